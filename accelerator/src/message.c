/* One message: how it is written, and what rules ask of it. */
#include "fast.h"

#include <Python.h>
#include <string.h>

const char *const ROLE_NAMES[ROLES] = {"system", "user", "assistant", "tool"};

enum { HAS_ROLE = 1, HAS_CONTENT = 2, HAS_NAME = 4, HAS_CALLS = 8, HAS_CALL_ID = 16, HAS_ANNOTATIONS = 32 };
static const char *const MEMBERS[] = {"role", "content", "name", "tool_calls", "tool_call_id", "annotations", NULL};
static const char *const OF_CALLS[] = {"id", "type", "function", NULL};
static const char *const OF_FUNCTIONS[] = {"name", "arguments", NULL};

/* Reads and writes the value of a member: 1, or 0 for one of another form, or -1. */
typedef int Copy(Scan *scan, Text *written, void *held, int which);

/* Read and write an object that has only these members, and each once; gives them as bits, or 0 or -1 as ever. */
static int copy_object(Scan *scan, Text *written, const char *const *names, Copy *copy, void *held, int drops_null)
{
    Part key;
    size_t count = 0;
    int more, met = 0, has = 0;
    if (!scan_char(scan, '{'))
        return 0;
    if (!text_add(written, "{", 1))
        return -1;
    while ((more = scan_member(scan, &count, &key)) > 0) {
        int which = 0;
        while (names[which] && !part_is(key, names[which]))
            which++;
        if (met & 1 << which)
            return 0;
        if (drops_null && *scan->at == 'n') {
            met |= names[which] ? 1 << which : 0;
            if (!scan_value(scan))
                return 0;
            continue;
        }
        if (!names[which])
            return 0;
        if (!text_string(written, has ? ",\"" : "\"") || !text_add(written, key.data, key.size)
            || !text_string(written, "\":"))
            return -1;
        met |= 1 << which;
        has |= 1 << which;
        int state = copy(scan, written, held, which);
        if (state <= 0)
            return state;
    }
    return more ? 0 : text_add(written, "}", 1) ? has : -1;
}

static int copy_string(Scan *scan, Text *written, Slice *slice)
{
    Part string;
    int escaped;
    if (!scan_string(scan, &string, &escaped))
        return 0;
    slice->at = written->size;
    if (!text_spelled(written, string, escaped))
        return -1;
    slice->size = written->size - slice->at;
    return 1;
}

/* The same for one that is not empty. */
static int copy_named(Scan *scan, Text *written, Slice *slice)
{
    int state = copy_string(scan, written, slice);
    return state > 0 && slice->size == 2 ? 0 : state;
}

static int copy_of_function(Scan *scan, Text *written, void *held, int which)
{
    Call *call = held;
    return which ? copy_string(scan, written, &call->arguments) : copy_named(scan, written, &call->name);
}

static int copy_of_call(Scan *scan, Text *written, void *held, int which)
{
    Call *call = held;
    Part type;
    int escaped;
    if (which == 0)
        return copy_named(scan, written, &call->id);
    if (which == 1 && (!scan_string(scan, &type, &escaped) || !part_is(type, "\"function\"")))
        return 0;
    if (which == 1)
        return text_add(written, type.data, type.size) ? 1 : -1;
    int has = copy_object(scan, written, OF_FUNCTIONS, copy_of_function, call, 0);
    return has < 0 ? -1 : has == 3;
}

static int copy_calls(Scan *scan, Text *written, Message *message)
{
    size_t count = 0;
    int more;
    if (!scan_char(scan, '['))
        return 0;
    while ((more = scan_item(scan, &count)) > 0) {
        Call call;
        if (!text_string(written, count > 1 ? "," : "["))
            return -1;
        int has = copy_object(scan, written, OF_CALLS, copy_of_call, &call, 0);
        if (has != 7)
            return has < 0 ? -1 : 0;
        if (!text_add(&message->calls, &call, sizeof call))
            return -1;
    }
    return more || !count ? 0 : text_add(written, "]", 1) ? 1 : -1;
}

static int copy_role(Scan *scan, Text *written, Message *message)
{
    Slice slice;
    int state = copy_named(scan, written, &slice);
    if (state <= 0)
        return state;
    Part name = text_part(written, (Slice){slice.at + 1, slice.size - 2});
    for (message->role = SYSTEM; message->role < ROLES && !part_is(name, ROLE_NAMES[message->role]);)
        message->role++;
    return message->role < ROLES;
}

static int copy_of_message(Scan *scan, Text *written, void *held, int which)
{
    Message *message = held;
    Slice name;
    int state;
    switch (1 << which) {
    case HAS_ROLE:
        return copy_role(scan, written, message);
    case HAS_CONTENT:
        state = copy_string(scan, written, &message->content);
        if (state > 0)
            message->first = message->content.size > 2 ? written->data[message->content.at + 1] : 0;
        return state;
    case HAS_NAME:
        return copy_string(scan, written, &name);
    case HAS_CALLS:
        return copy_calls(scan, written, message);
    case HAS_CALL_ID:
        return copy_named(scan, written, &message->call_id);
    default: /* annotations, which are empty in nearly all */
        return !scan_char(scan, '[') || !scan_char(scan, ']') ? 0 : text_add(written, "[]", 2) ? 1 : -1;
    }
}

static int is_usual(const Text *written, const Message *message)
{
    unsigned has = message->members & ~(unsigned)HAS_NAME;
    if (message->role == ASSISTANT)
        return (has & ~(unsigned)(HAS_CALLS | HAS_CONTENT | HAS_ANNOTATIONS)) == HAS_ROLE
            && !(has & HAS_CONTENT && part_has(text_part(written, message->content), "<tool_call>")); /* as markup */
    return has == (HAS_ROLE | HAS_CONTENT | (message->role == TOOL ? HAS_CALL_ID : 0u));
}

int message_read(Scan *scan, Text *written, Message *message)
{
    *message = (Message){.calls = message->calls, .first = 1};
    message->calls.size = 0;
    message->whole.at = written->size;
    int has = copy_object(scan, written, MEMBERS, copy_of_message, message, 1);
    if (has < 0)
        return -1;
    message->members = (unsigned)has;
    message->whole.size = written->size - message->whole.at;
    return has & HAS_ROLE && is_usual(written, message);
}
