/* cli_json.c - for tests of the command: reads one JSON text from stdin, fails if it is none, and prints the
 * value at the path given, for example `cli_json devices.0.path` (nothing given: only checks). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[1 << 20];
static const char *at = text, *found, *found_end;

static void fail(const char *what)
{
    fprintf(stderr, "cli_json: %s at byte %ld\n", what, (long)(at - text));
    exit(1);
}

static void blanks(void)
{
    while (*at && strchr(" \t\r\n", *at))
        at++;
}

static void expect(char c)
{
    blanks();
    if (*at++ != c)
        fail("another character is expected");
}

static void string(void)
{
    expect('"');
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            fail("a control character in a string");
        if (*at == '\\' && !strchr("\"\\/bfnrtu", *++at))
            fail("an unknown escape");
    }
    at++;
}

static void value(const char *path);

/* Members of an object or array; `path` is what is wanted below it, NULL for nothing. */
static void members(const char *path, char open, char close)
{
    size_t n = path ? strcspn(path, ".") : 0;
    long index = 0;
    expect(open);
    blanks();
    if (*at == close) {
        at++;
        return;
    }
    for (;; index++) {
        char name[128];
        snprintf(name, sizeof name, "%ld", index);
        if (open == '{') {
            blanks();
            const char *key = at + 1;
            string();
            snprintf(name, sizeof name, "%.*s", (int)(at - key - 1), key);
            expect(':');
        }
        int here = path && strlen(name) == n && !strncmp(name, path, n);
        value(!here ? NULL : path[n] ? path + n + 1 : "");
        blanks();
        if (*at++ == ',')
            continue;
        if (at[-1] != close)
            fail("',' or an end is expected");
        return;
    }
}

static void scalar(void)
{
    static const char *const words[] = { "true", "false", "null" };
    for (int i = 0; i < 3; i++)
        if (!strncmp(at, words[i], strlen(words[i]))) {
            at += strlen(words[i]);
            return;
        }
    char *end;
    if (*at != '-' && !isdigit((unsigned char)*at))
        fail("a value is expected");
    strtod(at, &end);
    at = end;
}

static void value(const char *path)
{
    blanks();
    const char *start = at;
    if (*at == '{')
        members(path, '{', '}');
    else if (*at == '[')
        members(path, '[', ']');
    else if (*at == '"')
        string();
    else
        scalar();
    if (path && !*path) {
        found = start;
        found_end = at;
    }
}

int main(int argc, char **argv)
{
    size_t n = fread(text, 1, sizeof text - 1, stdin);
    text[n] = 0;
    value(argc > 1 ? argv[1] : NULL);
    blanks();
    if (*at)
        fail("something behind the end");
    if (argc < 2)
        return 0;
    if (!found) {
        fprintf(stderr, "cli_json: there is no %s\n", argv[1]);
        return 1;
    }
    if (*found == '"') {
        found++;
        found_end--;
    }
    for (; found < found_end; found++) /* arrays of numbers in one line */
        if (!isspace((unsigned char)*found))
            putchar(*found);
    putchar('\n');
    return 0;
}
