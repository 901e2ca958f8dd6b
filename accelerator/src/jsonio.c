/* JSON as bytes: what stands where, and how it is written. */
#include "fast.h"

#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { DEEPEST = 64 };

int text_add(Text *text, const void *data, size_t size)
{
    if (size > text->room - text->size) {
        size_t room = text->room ? text->room : 256;
        if (size > PY_SSIZE_T_MAX / 4 || text->size > PY_SSIZE_T_MAX / 4)
            return 0;
        while (room - text->size < size)
            room *= 2;
        Byte *moved = PyMem_Realloc(text->data, room);
        if (!moved)
            return 0;
        text->data = moved;
        text->room = room;
    }
    if (size)
        memcpy(text->data + text->size, data, size);
    text->size += size;
    return 1;
}

int text_string(Text *text, const char *string)
{
    return text_add(text, string, strlen(string));
}

void text_free(Text *text)
{
    PyMem_Free(text->data);
}

Part text_part(const Text *text, Slice slice)
{
    return (Part){text->data + slice.at, slice.size};
}

int part_is(Part part, const char *string)
{
    return part.data && part.size == strlen(string) && !memcmp(part.data, string, part.size);
}

int parts_equal(Part one, Part other)
{
    if (!one.data || !other.data)
        return !one.data && !other.data;
    return one.size == other.size && !memcmp(one.data, other.data, one.size);
}

int part_has(Part part, const char *string)
{
    size_t size = strlen(string);
    const Byte *at = part.data, *end = at + part.size;
    for (; (at = memchr(at, *string, (size_t)(end - at))); at++)
        if ((size_t)(end - at) >= size && !memcmp(at, string, size))
            return 1;
    return 0;
}

void scan_space(Scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r' || *scan->at == '\n'))
        scan->at++;
}

int scan_char(Scan *scan, char wanted)
{
    scan_space(scan);
    if (scan->at >= scan->end || *scan->at != (Byte)wanted)
        return 0;
    scan->at++;
    return 1;
}

/* The code unit of four hexadecimal digits; -1 for what is none. */
static long unit(const Byte *at, const Byte *end)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    long value = 0;
    for (int each = 0; each < 4; each++) {
        const char *digit = end - at > each ? memchr(digits, at[each], sizeof digits - 1) : NULL;
        if (!digit)
            return -1;
        value = value * 16 + (digit - digits > 15 ? digit - digits - 6 : digit - digits);
    }
    return value;
}

/* The code point of an escape behind its `\u`, and how many bytes it takes; 0 bytes for half of a pair. */
static unsigned long code_point(const Byte *at, const Byte *end, size_t *size)
{
    long first = unit(at, end), second;
    *size = 0;
    if (first < 0 || (first >= 0xDC00 && first <= 0xDFFF))
        return 0;
    *size = 4;
    if (first < 0xD800 || first > 0xDBFF)
        return (unsigned long)first;
    second = end - at > 6 && at[4] == '\\' && at[5] == 'u' ? unit(at + 6, end) : -1;
    *size = second < 0xDC00 || second > 0xDFFF ? 0 : 10;
    return 0x10000 + ((unsigned long)(first - 0xD800) << 10) + (unsigned long)(second & 0x3FF);
}

/* How many bytes a character beyond ASCII takes here; 0 where it is no UTF-8. */
static size_t character(const Byte *at, const Byte *end)
{
    size_t size = *at >= 0xF0 ? 4 : *at >= 0xE0 ? 3 : 2;
    if (*at < 0xC2 || *at > 0xF4 || (size_t)(end - at) < size)
        return 0;
    for (size_t each = 1; each < size; each++)
        if ((at[each] & 0xC0) != 0x80)
            return 0;
    int is_long = (*at == 0xE0 && at[1] < 0xA0) || (*at == 0xF0 && at[1] < 0x90);
    int is_none = (*at == 0xED && at[1] > 0x9F) || (*at == 0xF4 && at[1] > 0x8F);
    return is_long || is_none ? 0 : size;
}

/* Whether any of eight bytes ends a run of plain ones: a quotation mark, a backslash, a control, or beyond ASCII. */
static int is_special(uint64_t bytes)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quotes = bytes ^ (ones * '"'), slashes = bytes ^ (ones * '\\');
    uint64_t found = ((quotes - ones) & ~quotes) | ((slashes - ones) & ~slashes) | ((bytes - ones * 0x20) & ~bytes);
    return ((found | bytes) & highs) != 0;
}

/* How many bytes stand here for a character that is no plain one; 0 for what no string has. */
static size_t special(const Byte *at, const Byte *end, int *escaped)
{
    size_t size;
    if (*at >= 0x80)
        return character(at, end);
    if (*at != '\\')
        return *at >= 0x20;
    *escaped = 1;
    if (end - at < 2 || !at[1] || !strchr("\"\\/bfnrtu", at[1]))
        return 0;
    if (at[1] != 'u')
        return 2;
    code_point(at + 2, end, &size);
    return size ? size + 2 : 0;
}

int scan_string(Scan *scan, Part *found, int *escaped)
{
    scan_space(scan);
    const Byte *at = scan->at, *end = scan->end;
    *escaped = 0;
    if (at >= end || *at++ != '"')
        return 0;
    while (at < end && *at != '"') {
        uint64_t next;
        while (end - at >= 8 && (memcpy(&next, at, 8), !is_special(next)))
            at += 8;
        if (at >= end || *at == '"')
            continue;
        size_t size = special(at, end, escaped);
        if (!size)
            return 0;
        at += size;
    }
    if (at >= end)
        return 0;
    *found = (Part){scan->at, (size_t)(at + 1 - scan->at)};
    scan->at = at + 1;
    return 1;
}

/* Go behind digits; gives whether there is one. */
static int scan_digits(Scan *scan)
{
    const Byte *start = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return scan->at > start;
}

/* Whether one of these characters stands here, which is passed then. */
static int scan_any(Scan *scan, const char *wanted)
{
    int is = scan->at < scan->end && *scan->at && strchr(wanted, *scan->at);
    scan->at += is;
    return is;
}

static int scan_number(Scan *scan)
{
    scan_any(scan, "-");
    if (!scan_any(scan, "0") && !scan_digits(scan))
        return 0;
    if (scan_any(scan, ".") && !scan_digits(scan))
        return 0;
    if (!scan_any(scan, "eE"))
        return 1;
    scan_any(scan, "+-");
    return scan_digits(scan);
}

static int scan_word(Scan *scan)
{
    const char *word = *scan->at == 't' ? "true" : *scan->at == 'f' ? "false" : "null";
    size_t size = strlen(word);
    if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, word, size))
        return 0;
    scan->at += size;
    return 1;
}

int scan_member(Scan *scan, size_t *count, Part *key)
{
    int escaped;
    if (scan_char(scan, '}'))
        return 0;
    if ((*count && !scan_char(scan, ',')) || !scan_string(scan, key, &escaped) || escaped || !scan_char(scan, ':'))
        return -1; /* a key with escapes is left to others */
    (*count)++;
    *key = (Part){key->data + 1, key->size - 2};
    scan_space(scan);
    return scan->at < scan->end ? 1 : -1;
}

int scan_item(Scan *scan, size_t *count)
{
    if (scan_char(scan, ']'))
        return 0;
    if (*count && !scan_char(scan, ','))
        return -1;
    (*count)++;
    scan_space(scan);
    return scan->at < scan->end ? 1 : -1;
}

static int scan_levels(Scan *scan, int left)
{
    Part part;
    int escaped, more;
    size_t count = 0;
    scan_space(scan);
    if (scan->at >= scan->end || !left)
        return 0;
    Byte first = *scan->at;
    if (first == '"')
        return scan_string(scan, &part, &escaped);
    if (first == 't' || first == 'f' || first == 'n')
        return scan_word(scan);
    if (first != '{' && first != '[')
        return scan_number(scan);
    scan->at++;
    while ((more = first == '{' ? scan_member(scan, &count, &part) : scan_item(scan, &count)) > 0)
        if (!scan_levels(scan, left - 1))
            return 0;
    return !more;
}

int scan_value(Scan *scan)
{
    return scan_levels(scan, DEEPEST);
}

/* Write a character as UTF-8, or as the escape that it needs. */
static int text_character(Text *text, unsigned long code)
{
    static const char controls[] = "\b\t\n\f\r", letters[] = "btnfr";
    char bytes[8] = {(char)code};
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    const char *control = code < 0x20 ? memchr(controls, (int)code, sizeof controls - 1) : NULL;
    if (code == '"' || code == '\\' || control)
        size = (size_t)PyOS_snprintf(bytes, sizeof bytes, "\\%c", control ? letters[control - controls] : (int)code);
    else if (code < 0x20)
        size = (size_t)PyOS_snprintf(bytes, sizeof bytes, "\\u%04lx", code);
    else if (size > 1) {
        for (size_t each = size - 1; each; each--, code >>= 6)
            bytes[each] = (char)(0x80 | (code & 0x3F));
        bytes[0] = (char)((0xF00u >> size & 0xFF) | code);
    }
    return text_add(text, bytes, size);
}

int text_spelled(Text *text, Part string, int escaped)
{
    const Byte *at = string.data, *end = at + string.size, *next;
    while (escaped && (next = memchr(at, '\\', (size_t)(end - at)))) {
        size_t size = 0;
        unsigned long code = next[1] == 'u' ? code_point(next + 2, end, &size) : 0;
        int fits = text_add(text, at, (size_t)(next - at))
            && (next[1] == 'u'     ? text_character(text, code)
                    : next[1] == '/' ? text_add(text, "/", 1)
                                     : text_add(text, next, 2));
        if (!fits)
            return 0;
        at = next + 2 + size;
    }
    return text_add(text, at, (size_t)(end - at));
}
