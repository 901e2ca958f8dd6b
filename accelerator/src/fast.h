/* What the files here share: JSON as bytes, a message, and a line. */
#pragma once

#include <stddef.h>

typedef unsigned char Byte;

/* Bytes that grow. Functions that add to them give 0 where there is no memory, and 1 otherwise. */
typedef struct { Byte *data; size_t size, room; } Text;

/* A part of some bytes; one that is not there has no data. */
typedef struct { const Byte *data; size_t size; } Part;

/* A part of a text, which may move: where it begins. */
typedef struct { size_t at, size; } Slice;

/* What is read, and how far. */
typedef struct { const Byte *at, *end; } Scan;

/* jsonio.c: functions that scan give 1, or 0 for what is not there, or no JSON that is taken. */
int text_add(Text *text, const void *data, size_t size);
int text_string(Text *text, const char *string);
int text_spelled(Text *text, Part string, int escaped); /* a string that was scanned, as orjson writes it */
void text_free(Text *text);
int part_is(Part part, const char *string);
int parts_equal(Part one, Part other);
int part_has(Part part, const char *string);
Part text_part(const Text *text, Slice slice);
void scan_space(Scan *scan);
int scan_char(Scan *scan, char wanted); /* a character behind white space */
int scan_value(Scan *scan);             /* strict JSON in UTF-8 without lone surrogates */
int scan_string(Scan *scan, Part *found, int *escaped); /* with the quotation marks; `escaped`: it has a backslash */
/* The next member of an object, up to its value, or the next item of an array: 1, or 0 behind the last one, or -1. */
int scan_member(Scan *scan, size_t *count, Part *key);
int scan_item(Scan *scan, size_t *count);

typedef enum { SYSTEM, USER, ASSISTANT, TOOL, ROLES } Role;
extern const char *const ROLE_NAMES[ROLES];
typedef struct { Slice id, name, arguments; } Call; /* with the quotation marks */
typedef struct {
    Slice whole, content, call_id;
    Role role;
    unsigned members; /* those that it has, as bits */
    Byte first;       /* what its content begins with, as JSON has it; 0: it is empty; 1: there is none */
    Text calls;       /* one `Call` behind the other */
} Message;

/* Read a message, and write it behind `written` as a record has it: 1, or 0 for one of another form than nearly all, or
   -1 where there is no memory. The same message may be used again and again. */
int message_read(Scan *scan, Text *written, Message *message);

enum { LIMITS = 3 }; /* plain_lines.c */
/* Names, each between two zeros, and the members of requests that limit replies. */
typedef struct {
    Part claims, refused, response;
    const char *limits[LIMITS];
} Names;

/* Reads the value of a member: 1, or 0 for what is not as it should be, or -1 where there is no memory. */
typedef int Read(Scan *scan, void *held);

/* A line: what reads it, and its parts, as they stand there. */
typedef struct {
    const Names *names;
    Read *read_messages, *read_tools;
    void *reader;
    Part timestamp, session_id, status, request, response, messages, tools, limits[LIMITS];
    Part choices, kind, id, model, usage, reply, finish_reason;
} Exchange;

int line_read(Part line, Exchange *found); /* 1, or 0 for a line of another form, or -1 where there is no memory */
