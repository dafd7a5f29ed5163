/* cts_trace.c - conformance: HALCYON_TRACE=FILE has every copy and launch, as JSON valid at any moment. */
#include "cts_gate.h"

#include <ctype.h>
#include <halcyon/backend.h>

/* --- JSON, as far as saying yes or no --- */

static const char *value(const char *p);

static const char *space(const char *p)
{
    while (p && isspace((unsigned char)*p))
        p++;
    return p;
}
static const char *string(const char *p)
{
    if (*p++ != '"')
        return NULL;
    for (; *p != '"'; p++) {
        if ((unsigned char)*p < ' ' || (*p == '\\' && !*++p))
            return NULL;
    }
    return p + 1;
}
static const char *list(const char *p, char end, bool named)
{
    p = space(p + 1);
    if (*p == end)
        return p + 1;
    for (;;) {
        if (named) {
            p = space(string(p));
            if (!p || *p++ != ':')
                return NULL;
        }
        p = space(value(space(p)));
        if (!p)
            return NULL;
        if (*p == end)
            return p + 1;
        if (*p++ != ',')
            return NULL;
        p = space(p);
    }
}
/* Behind the value at p, NULL if there is none. */
static const char *value(const char *p)
{
    if (*p == '{')
        return list(p, '}', true);
    if (*p == '[')
        return list(p, ']', false);
    if (*p == '"')
        return string(p);
    return isdigit((unsigned char)*p) || *p == '-' ? p + strspn(p, "+-.0123456789eE") : NULL; /* in any locale */
}
static bool is_json(const char *text)
{
    const char *end = text ? space(value(space(text))) : NULL;
    return end && !*end;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (f) {
        text[fread(text, 1, (1 << 20) - 1, f)] = 0;
        fclose(f);
    }
    return text;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
        n++;
    return n;
}

/* --- What is traced --- */

enum { WRITE = 12345, COPY = 12346, READ = 12347, FILL = 12352, NAMED = 12353, LATER = 12354, SIZE = 20000 };
struct traced {
    const char *path;
};

/* Devices one after the other, most likely at one address. */
static int use_and_close(const char *spec)
{
    unsigned char data[64] = { 0 };
    hcy_device *dev = cts_open_spec(spec);
    hcy_buffer *buf = cts_buffer(dev, 64);
    int status = hcy_buffer_write_now(buf, 0, data, 64);
    hcy_buffer_release(buf);
    hcy_device_release(dev);
    cts_sleep_ms(5);
    return status;
}

/* Copies that are about frames, and one that is not; what the host does. */
static int name_work(hcy_queue *queue, hcy_buffer *a, const unsigned char *data)
{
    uint64_t since = hcy_trace_begin();
    hcy_trace_name_queue(queue, "a queue");
    hcy_trace_frames(queue, 7, 3);
    int status = hcy_buffer_write(queue, a, 0, data, NAMED);
    status = cts_first(status, hcy_queue_finish(queue));
    hcy_trace_frames(queue, 0, 0);
    status = cts_first(status, hcy_buffer_write(queue, a, 0, data, LATER));
    status = cts_first(status, hcy_queue_finish(queue));
    hcy_trace_name_thread("a thread");
    hcy_trace_end(since, "both", 7, 4, NAMED);
    hcy_trace_name_thread(NULL);
    hcy_trace_end(0, "nothing", 7, 4, NAMED);
    return status;
}

/* In a child: work on two devices, the trace read before the end. */
static int work(void *context)
{
    const struct traced *t = context;
    unsigned char *data = cts_bytes(SIZE, 1), *got = calloc(1, SIZE), zero = 0;
    setenv("HALCYON_TRACE", t->path, 1);
    hcy_device *dev = cts_open(), *other = cts_open_spec("null:2");
    hcy_queue *queue = cts_queue(dev), *theirs = cts_queue(other);
    hcy_buffer *a = cts_buffer(dev, SIZE), *b = cts_buffer(dev, SIZE), *c = cts_buffer(other, SIZE);
    struct cts_work w;
    int status = hcy_buffer_write(queue, a, 0, data, WRITE);
    status = cts_first(status, hcy_buffer_copy(queue, b, 0, a, 0, COPY));
    status = cts_first(status, hcy_buffer_fill(queue, b, 0, FILL, &zero, 1));
    status = cts_first(status, hcy_buffer_read(queue, got, a, 0, READ));
    status = cts_first(status, hcy_buffer_write(theirs, c, 0, data, WRITE));
    int made = cts_work_make(&w, dev);
    if (!made)
        status = cts_first(status, cts_work_launch(&w, queue));
    status = cts_first(status, hcy_queue_finish(queue));
    status = cts_first(status, hcy_queue_finish(theirs));
    status = cts_first(status, name_work(queue, a, data));
    char *text = read_file(t->path);
    bool valid = is_json(text);
    free(text);
    cts_work_free(&w);
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    hcy_buffer_release(c);
    hcy_queue_release(queue);
    hcy_queue_release(theirs);
    hcy_device_release(dev);
    hcy_device_release(other);
    free(data);
    free(got);
    for (int i = 0; i < 4; i++)
        status = cts_first(status, use_and_close(i % 2 ? "null:1" : "null:3"));
    return status ? 1 : !valid ? 2 : made ? 3 : 4;
}

/* In a child: another process, which has the trace of that name, still runs. */
static int work_beside(void *context)
{
    const struct traced *t = context;
    int ready[2], end[2], how = 0, fine;
    char c = 0, own[160], *texts[2];
    setenv("HALCYON_TRACE", t->path, 1);
    if (pipe(ready) || pipe(end))
        return 1;
    pid_t other = fork();
    if (!other) {
        fine = !use_and_close("null:3") && write(ready[1], &c, 1) == 1 && read(end[0], &c, 1) == 1;
        _exit(!fine);
    }
    fine = other > 0 && read(ready[0], &c, 1) == 1 && !use_and_close("null:1") && write(end[1], &c, 1) == 1 &&
           waitpid(other, &how, 0) == other && !how;
    snprintf(own, sizeof own, "%s.%ld", t->path, (long)getpid());
    texts[0] = read_file(t->path);
    texts[1] = read_file(own);
    fine = fine && is_json(texts[0]) && count(texts[0], "null:3") == 1 && is_json(texts[1]) &&
           count(texts[1], "null:1") == 1;
    free(texts[0]);
    free(texts[1]);
    return unlink(own) || !fine;
}

static int work_without_file(void *context)
{
    static const struct traced nowhere = { "/nonexistent/trace.json" };
    (void)context;
    int result = work((void *)(uintptr_t)&nowhere);
    return result == 1 ? 1 : 0;
}

static void test_trace(void)
{
    char path[] = "/tmp/halcyon-trace-XXXXXX", name[160];
    int fd = mkstemp(path);
    const struct traced t = { path };
    if (fd < 0)
        bail_out("no temporary file");
    close(fd);
    int result = cts_child(work, (void *)(uintptr_t)&t);
    ok(result == 3 || result == 4, "a traced process works, and its trace is JSON while it runs (%d)",
       result);
    char *text = read_file(path);
    ok(is_json(text), "the trace is JSON in the end");
    static const struct {
        const char *what;
        int bytes, times;
    } spans[] = { { "writes on two devices", WRITE, 2 },
                  { "a copy", COPY, 1 },
                  { "a read", READ, 1 },
                  { "a fill", FILL, 1 } };
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "\"bytes\":%d}", spans[i].bytes);
        is_int((intmax_t)count(text, name), spans[i].times, "it has %s, with their bytes", spans[i].what);
    }
    if (result == 4)
        is_int((intmax_t)count(text, "\"name\":\"bslz4_decode\""), 1, "and the launch by its name");
    else
        skip(1, "%s has no kernel to launch", cts_spec);
    ok(count(text, "\"ph\":\"X\"") >= 5 && count(text, "\"dur\":") == count(text, "\"ph\":\"X\""),
       "each span has a length");
    is_int((intmax_t)count(text, "\"first\":7,\"frames\":3,\"bytes\":12353}"), 1, "the frames that a copy is about");
    is_int((intmax_t)count(text, "\"args\":{\"bytes\":12354}"), 1, "a later one is about none");
    ok(count(text, "\"thread_name\"") == 2 && count(text, "{\"name\":\"a queue\"}") == 1 &&
           count(text, "{\"name\":\"a thread\"}") == 1,
       "rows have the names that they were given");
    is_int((intmax_t)count(text, "\"name\":\"both\""), 1, "a span of the host's");
    is_int((intmax_t)count(text, "\"first\":7,\"frames\":4"), 1, "which has its frames, and nothing of no time");
    is_int((intmax_t)count(text, "\"process_name\""), 2 + 4 + 1, "each device has its row, and the host");
    is_int((intmax_t)count(text, "\"args\":{\"name\":\"null:2\"}"), 1, "by its name");
    ok(count(text, "\"args\":{\"name\":\"null:1\"}") == 1 && count(text, "\"args\":{\"name\":\"null:1 (2)\"}") == 1,
       "the second one of a name has a number");
    free(text);
    is_int(cts_child(work_beside, (void *)(uintptr_t)&t), 0, "two processes of one name have a file each");
    unlink(path);
    is_int(cts_child(work_without_file, NULL), 0, "a trace that cannot be written disturbs nothing");
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    ok(is_json("[{\"a\":1.5,\"b\":[\"x\\\"y\",-2e3]},{}]") && !is_json("[1,]") && !is_json("[1") &&
           !is_json("{\"a\"}") && !is_json("[] x"),
       "this program knows JSON");
    test_trace();
    return done_testing();
}
