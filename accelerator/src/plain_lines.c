/* What a line of a plain log is: chat with an answer, and nothing that asks for a second look. */
#include "fast.h"

#include <string.h>

/* A member that may stand there once: where its value is kept, and what reads it, if anything does. */
typedef struct {
    const char *name;
    Part *value;
    Read *read;
    void *held;
} Member;

/* Whether a name is among names that stand between zeros. */
static int is_among(Part names, Part key)
{
    const Byte *at = names.data, *end, *stop;
    if (!at)
        return 0;
    for (end = at + names.size; end - at > 1 && (stop = memchr(at + 1, 0, (size_t)(end - at - 1))); at = stop)
        if (parts_equal((Part){at + 1, (size_t)(stop - at - 1)}, key))
            return 1;
    return 0;
}

/* Read an object with these members; others are passed over, where their being among `others` is as it should be. */
static int read_object(Scan *scan, const Member *members, size_t count, Part others, int are_among)
{
    Part key;
    size_t met = 0;
    int more, state;
    if (!scan_char(scan, '{'))
        return 0;
    while ((more = scan_member(scan, &met, &key)) > 0) {
        size_t which = 0;
        while (which < count && !part_is(key, members[which].name))
            which++;
        if (which == count) {
            if (is_among(others, key) != are_among || !scan_value(scan))
                return 0;
            continue;
        }
        const Member *member = &members[which];
        const Byte *start = scan->at;
        if (member->value->data)
            return 0;
        state = member->read ? member->read(scan, member->held) : scan_value(scan);
        if (state <= 0)
            return state;
        *member->value = (Part){start, (size_t)(scan->at - start)};
    }
    return !more;
}

static int is_null(Part part)
{
    return !part.data || part_is(part, "null");
}

/* Whether a member is no string, or there is none. */
static int is_no_string(Part part)
{
    return !part.data || *part.data != '"';
}

/* Whether a value is a whole number of few digits, or null; 1 token is what clients ask for that probe. */
static int is_count(Part part)
{
    size_t digit = part.data && *part.data == '-';
    if (is_null(part) || part_is(part, "1"))
        return is_null(part);
    while (digit < part.size && part.data[digit] >= '0' && part.data[digit] <= '9')
        digit++;
    return digit == part.size && part.size < 19;
}

static int read_request(Scan *scan, void *held)
{
    Exchange *found = held;
    const char *const *limits = found->names->limits;
    const Member members[] = {
        {"messages", &found->messages, found->read_messages, found->reader},
        {"tools", &found->tools, found->read_tools, found->reader},
        {limits[0], &found->limits[0], NULL, NULL},
        {limits[1], &found->limits[1], NULL, NULL},
        {limits[2], &found->limits[2], NULL, NULL},
    };
    int state = read_object(scan, members, 2 + LIMITS, found->names->refused, 0);
    if (state <= 0)
        return state;
    for (int each = 0; each < LIMITS; each++)
        if (!is_count(found->limits[each]))
            return 0;
    return found->messages.data != NULL;
}

static int read_choices(Scan *scan, void *held)
{
    Exchange *found = held;
    const Member members[] = {
        {"message", &found->reply, NULL, NULL},
        {"finish_reason", &found->finish_reason, NULL, NULL},
    };
    return scan_char(scan, '[') && read_object(scan, members, 2, (Part){0}, 0) && scan_char(scan, ']')
        && found->reply.data && (is_null(found->finish_reason) || !is_no_string(found->finish_reason));
}

static int read_response(Scan *scan, void *held)
{
    Exchange *found = held;
    const Member members[] = {
        {"choices", &found->choices, read_choices, found},
        {"object", &found->kind, NULL, NULL},
        {"id", &found->id, NULL, NULL},
        {"model", &found->model, NULL, NULL},
        {"usage", &found->usage, NULL, NULL},
    };
    if (!read_object(scan, members, 5, found->names->response, 1))
        return 0;
    return found->choices.data && !is_no_string(found->model) && (is_null(found->id) || !is_no_string(found->id))
        && (!found->kind.data || part_is(found->kind, "\"chat.completion\""));
}

int line_read(Part line, Exchange *found)
{
    Scan scan = {line.data, line.data + line.size};
    const Member members[] = {
        {"request", &found->request, read_request, found},
        {"response", &found->response, read_response, found},
        {"timestamp", &found->timestamp, NULL, NULL},
        {"session_id", &found->session_id, NULL, NULL},
        {"status", &found->status, NULL, NULL},
    };
    int state = read_object(&scan, members, 5, found->names->claims, 0);
    if (state <= 0)
        return state;
    scan_space(&scan);
    return scan.at == scan.end && found->request.data && found->response.data && !is_no_string(found->timestamp)
        && found->timestamp.size < 64 && !is_no_string(found->session_id) /* a time of each line is kept */
        && (is_null(found->status) || part_is(found->status, "200"));
}
