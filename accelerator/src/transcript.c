/* Plain logs, read as bytes: of each line what it repeats is compared, and only the rest is parsed. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "fast.h"

/* What is told of the lines, and of the messages of the record: lists, as JSON. Behind them what is kept beside: what
   each line repeats of the array of the line before, behind its bracket; the messages as the record has them; the last
   reply, so written, and as it was logged; how it ended, and the model; and what is the same in all lines. */
enum { COUNTS, LINES, TIMES, ROLE, END, LOOK, SIGN, CALLS, ID, NAME, ARGUMENTS, RESULT, RESULT_ID, RESULT_TEXT, USAGE,
    LISTS };
enum { BODY = LISTS, WRITTEN, REPLY, RAW_REPLY, REASON, MODEL, SESSION_ID, TOOLS, LIMIT, TEXTS = LIMIT + LIMITS };
static const char *const NAMES[LISTS] = {"counts", "lines", "times", "roles", "ends", "looks", "signs", "calls", "ids",
    "names", "arguments", "results", "result_ids", "result_texts", "usages"};

typedef struct {
    PyObject *buffer, *more;
    Py_buffer view;
    size_t start, filled, longest, number, size, last_size;
    Names names;
    Part looks; /* of each role and of what its texts begin with whether rules may touch the message */
    Message message, answer;
    size_t count; /* messages of the last request */
    unsigned members;
    Text texts[TEXTS];
} Reader;

static int list_add(Text *list, const void *data, size_t size)
{
    return (!list->size || text_add(list, ",", 1)) && text_add(list, data, size);
}

static int list_number(Text *list, size_t number)
{
    char digits[24];
    return list_add(list, digits, (size_t)PyOS_snprintf(digits, sizeof digits, "%zu", number));
}

static int list_slice(Text *list, const Text *text, Slice slice)
{
    Part part = text_part(text, slice);
    return list_add(list, part.data, part.size);
}

static int copy_part(Text *text, Part part)
{
    text->size = 0;
    return !part.data || text_add(text, part.data, part.size);
}

static Part as_part(const Text *text)
{
    return (Part){text->size ? text->data : NULL, text->size};
}

/* Take note of a message, which is written in `text`; it ends the record so far. */
static int note(Reader *reader, const Text *text, const Message *message)
{
    Text *lists = reader->texts;
    size_t at = reader->count;
    char told[64];
    int size = PyOS_snprintf(told, sizeof told, "\"%s\"", ROLE_NAMES[message->role]);
    int fits = list_add(&lists[ROLE], told, (size_t)size) && list_number(&lists[END], lists[WRITTEN].size);
    reader->members |= message->members;
    if (reader->looks.data[message->role * 256 + message->first])
        fits = fits && list_number(&lists[LOOK], at);
    Part whole = text_part(text, message->whole);
    if (part_has(whole, "@") || part_has(whole, "\\u0040"))
        fits = fits && list_number(&lists[SIGN], at);
    if (message->role == TOOL)
        fits = fits && list_number(&lists[RESULT], at) && list_slice(&lists[RESULT_ID], text, message->call_id)
            && list_slice(&lists[RESULT_TEXT], text, message->content);
    const Call *calls = (const Call *)message->calls.data;
    size_t count = message->calls.size / sizeof *calls;
    size = PyOS_snprintf(told, sizeof told, "[%zu,%zu]", at, count);
    if (count)
        fits = fits && list_add(&lists[CALLS], told, (size_t)size);
    for (size_t each = 0; fits && each < count; each++)
        fits = list_slice(&lists[ID], text, calls[each].id) && list_slice(&lists[NAME], text, calls[each].name)
            && list_slice(&lists[ARGUMENTS], text, calls[each].arguments);
    return fits;
}

/* Take the last reply as the message that a line adds first: 1, or 0 where that is another, or -1. */
static int take_reply(Reader *reader, Scan *scan)
{
    Text *written = &reader->texts[WRITTEN], *reply = &reader->texts[REPLY], *raw = &reader->texts[RAW_REPLY];
    size_t size = raw->size;
    if ((size_t)(scan->end - scan->at) >= size && !memcmp(scan->at, raw->data, size)) {
        scan->at += size;
    } else {
        size_t at = written->size;
        int state = message_read(scan, written, &reader->message);
        if (state <= 0)
            return state;
        if (!parts_equal(text_part(written, (Slice){at, written->size - at}), as_part(reply)))
            return 0;
        written->size = at;
    }
    return text_add(written, reply->data, reply->size) && note(reader, reply, &reader->answer) ? 1 : -1;
}

/* Take the messages of a line: what it repeats, the last reply, and what it adds. */
static int take_messages(Scan *scan, void *held)
{
    Reader *reader = held;
    Text *written = &reader->texts[WRITTEN], *body = &reader->texts[BODY];
    size_t repeated = body->size, count = repeated != 0;
    int more;
    if (!scan_char(scan, '[') || (size_t)(scan->end - scan->at) < repeated
        || (repeated && memcmp(scan->at, body->data, repeated)))
        return 0;
    scan->at += repeated;
    const Byte *from = scan->at, *behind = from;
    while ((more = scan_item(scan, &count)) > 0) {
        int state = reader->count && !text_add(written, ",", 1) ? -1
            : repeated && behind == from                        ? take_reply(reader, scan)
                                                                : message_read(scan, written, &reader->message);
        if (state > 0 && !(repeated && behind == from) && !note(reader, written, &reader->message))
            state = -1;
        if (state <= 0)
            return state;
        reader->count++;
        behind = scan->at;
    }
    return more || behind == from ? 0 : text_add(body, from, (size_t)(behind - from)) ? 1 : -1;
}

/* Take the tools of a line, which are those of the line before it, byte for byte. */
static int take_tools(Scan *scan, void *held)
{
    Part known = as_part(&((Reader *)held)->texts[TOOLS]);
    if (!known.data || (size_t)(scan->end - scan->at) < known.size || memcmp(scan->at, known.data, known.size))
        return *scan->at == '[' && scan_value(scan);
    scan->at += known.size;
    return 1;
}

/* Whether what a line has beside its messages is as in the others: 1, 0, or -1. */
static int is_alike(Reader *reader, const Exchange *found)
{
    int is_first = !reader->texts[LINES].size;
    const Part parts[] = {found->session_id, found->tools, found->limits[0], found->limits[1], found->limits[2]};
    for (int each = 0; each < 2 + LIMITS; each++) {
        Text *known = &reader->texts[SESSION_ID + each];
        if (is_first ? !copy_part(known, parts[each]) : !parts_equal(parts[each], as_part(known)))
            return is_first ? -1 : 0;
    }
    return 1;
}

/* Take a line: 1, or 0 where it is none of a plain log with nothing unusual, or -1. */
static int take(Reader *reader, Part line, size_t size)
{
    Exchange found = {&reader->names, take_messages, take_tools, reader};
    int state = line_read(line, &found);
    if (state > 0)
        state = is_alike(reader, &found);
    if (state <= 0)
        return state;
    Scan scan = {found.reply.data, found.reply.data + found.reply.size};
    Text *texts = reader->texts;
    texts[REPLY].size = 0;
    reader->last_size = size;
    state = message_read(&scan, &texts[REPLY], &reader->answer);
    if (state <= 0 || reader->answer.role != ASSISTANT)
        return state < 0 ? -1 : 0;
    int fits = list_number(&texts[COUNTS], reader->count) && list_number(&texts[LINES], reader->number)
        && list_add(&texts[TIMES], found.timestamp.data, found.timestamp.size)
        && (!found.usage.data || list_add(&texts[USAGE], found.usage.data, found.usage.size))
        && copy_part(&texts[MODEL], found.model)
        && copy_part(&texts[RAW_REPLY], found.reply) && copy_part(&texts[REASON], found.finish_reason);
    return fits ? 1 : -1;
}

/* Read more of the file; what there is of the present line moves to the front: 1, 0 at the end, or -1. */
static int more(Reader *reader)
{
    Py_ssize_t start = (Py_ssize_t)reader->start, rest = (Py_ssize_t)reader->filled - start, filled;
    PyObject *buffer, *answer;
    PyBuffer_Release(&reader->view);
    answer = PyObject_CallFunction(reader->more, "Onn", reader->buffer, start, start + rest);
    if (!answer || !PyArg_ParseTuple(answer, "On", &buffer, &filled)
        || PyObject_GetBuffer(buffer, &reader->view, PyBUF_SIMPLE) < 0) {
        Py_XDECREF(answer);
        return -1;
    }
    Py_DECREF(reader->buffer);
    reader->buffer = Py_NewRef(buffer);
    Py_DECREF(answer);
    reader->start = 0;
    reader->filled = (size_t)filled;
    if (filled >= rest && filled <= reader->view.len)
        return filled > rest;
    PyErr_SetString(PyExc_ValueError, "what was read is not in the buffer");
    return -1;
}

/* Read all lines: 1, or 0 for a log with anything unusual, or -1. */
static int read_all(Reader *reader)
{
    size_t searched = 0;
    int ended = 0;
    while (!ended) {
        const Byte *data = reader->view.buf;
        const Byte *feed = memchr(data + searched, '\n', reader->filled - searched);
        size_t rest = reader->filled - reader->start;
        if (!feed) {
            int state = rest > reader->longest ? -2 : more(reader);
            if (state < 0)
                return state == -1 ? -1 : 0;
            searched = rest;
            data = reader->view.buf;
            ended = !state;
            if (!ended || !rest)
                continue;
        }
        size_t stop = feed ? (size_t)(feed - data) : reader->filled, size = stop - reader->start + (feed != NULL);
        int state = size > reader->longest ? 0 : take(reader, (Part){data + reader->start, stop - reader->start}, size);
        if (state < 0 && !PyErr_Occurred())
            PyErr_NoMemory();
        if (state <= 0)
            return state;
        reader->size += size;
        reader->start = searched = stop + (feed != NULL);
        reader->number++;
    }
    return reader->count > 0;
}

static int write_member(Text *text, const char *name, Part value)
{
    return text_string(text, ",\"") && text_string(text, name) && text_string(text, "\":")
        && (value.data ? text_add(text, value.data, value.size) : text_string(text, "null"));
}

/* What was read, as `chatsquash.entries.compiled` takes it. */
static PyObject *result(Reader *reader)
{
    Text told = {0}, *texts = reader->texts, *written = &texts[WRITTEN];
    PyObject *found = NULL;
    char numbers[128];
    int fits = text_string(written, ",") && text_add(written, texts[REPLY].data, texts[REPLY].size)
        && note(reader, &texts[REPLY], &reader->answer);
    PyOS_snprintf(numbers, sizeof numbers, "{\"size\":%zu,\"last_size\":%zu,\"members\":%u", reader->size,
        reader->last_size, reader->members);
    fits = fits && text_string(&told, numbers)
        && write_member(&told, "session_id", as_part(&texts[SESSION_ID]))
        && write_member(&told, "model", as_part(&texts[MODEL]))
        && write_member(&told, "finish_reason", as_part(&texts[REASON]));
    for (int each = 0; each < LISTS && fits; each++)
        fits = write_member(&told, NAMES[each], (Part){(const Byte *)"[", 1})
            && text_add(&told, texts[each].data, texts[each].size) && text_string(&told, "]");
    if (fits && text_string(&told, "}") && text_add(&texts[TOOLS], "", 1)) /* data in any case */
        found = Py_BuildValue("(y#y#y#O)", told.data, (Py_ssize_t)told.size, texts[TOOLS].data,
            (Py_ssize_t)texts[TOOLS].size - 1, written->data, (Py_ssize_t)written->size, reader->buffer);
    else
        PyErr_NoMemory();
    text_free(&told);
    return found;
}

static void reader_free(Reader *reader)
{
    for (int each = 0; each < TEXTS; each++)
        text_free(&reader->texts[each]);
    text_free(&reader->message.calls);
    text_free(&reader->answer.calls);
    PyBuffer_Release(&reader->view); /* which does nothing where there is none */
    Py_XDECREF(reader->buffer);
}

static PyObject *transcribe(PyObject *module, PyObject *arguments)
{
    Reader reader = {.number = 1};
    Names *names = &reader.names;
    Part limits[LIMITS], *parts[] = {&reader.looks, &names->claims, &names->refused, &names->response, &limits[0],
        &limits[1], &limits[2]};
    PyObject *given;
    Py_ssize_t longest, size;
    char *data;
    if (!PyArg_ParseTuple(arguments, "OOnO", &reader.buffer, &reader.more, &longest, &given))
        return NULL;
    for (Py_ssize_t each = 0; each < 4 + LIMITS; each++) {
        PyObject *item = PyTuple_GetItem(given, each);
        if (!item || PyBytes_AsStringAndSize(item, &data, &size) < 0)
            return NULL;
        *parts[each] = (Part){(const Byte *)data, (size_t)size};
    }
    for (int each = 0; each < LIMITS; each++)
        names->limits[each] = (const char *)limits[each].data; /* which ends with a zero, as all bytes of Python */
    if (longest < 0 || reader.looks.size != ROLES * 256) {
        PyErr_SetString(PyExc_ValueError, "these are arguments of another version");
        return NULL;
    }
    reader.longest = (size_t)longest;
    Py_INCREF(reader.buffer);
    PyObject *found = NULL;
    if (PyObject_GetBuffer(reader.buffer, &reader.view, PyBUF_SIMPLE) == 0) {
        int state = read_all(&reader);
        found = state > 0 ? result(&reader) : state < 0 ? NULL : Py_NewRef(Py_None);
    }
    reader_free(&reader);
    return found;
}

static PyMethodDef METHODS[] = {
    {"transcribe", transcribe, METH_VARARGS, "A plain log with nothing unusual; None for any other."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, .m_name = "chatsquash_fast", .m_methods = METHODS};

PyMODINIT_FUNC PyInit_chatsquash_fast(void)
{
    PyObject *module = PyModule_Create(&MODULE);
    if (module && PyModule_AddIntConstant(module, "WAY", 2) == 0
        && PyModule_AddStringConstant(module, "__version__", VERSION) == 0)
        return module;
    Py_XDECREF(module);
    return NULL;
}
