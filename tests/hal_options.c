/* hal_options.c - device strings' options read by a table: values of each kind, defaults, refusals in words. */
#include "cts.h"

#include <halcyon/backend.h>
#include <stddef.h>

struct settings {
    bool flag;
    int64_t number, count;
    uint64_t bytes;
    int word;
    const char *file;
};

static const hcy_option options[] = {
    { "flag", HCY_OPTION_BOOL, offsetof(struct settings, flag), "a flag", 0, 0, NULL },
    { "number", HCY_OPTION_INT, offsetof(struct settings, number), "a number", -5, 4096, NULL },
    { "count", HCY_OPTION_INT, offsetof(struct settings, count), "how many", 2, INT64_MAX, NULL },
    { "bytes", HCY_OPTION_SIZE, offsetof(struct settings, bytes), "a limit", 0, 0, NULL },
    { "word", HCY_OPTION_WORD, offsetof(struct settings, word), "a colour", 0, 0, "red green blue" },
    { "file", HCY_OPTION_STRING, offsetof(struct settings, file), "where it is", 0, 0, NULL },
    { .key = NULL },
};

static int read_one(struct settings *s, const char *key, const char *value)
{
    const hcy_spec_option option = { key, value };
    const hcy_spec spec = { "toy", "toy", "", &option, 1 };
    *s = (struct settings){ false, 7, 8, 9, 2, "nowhere" };
    return hcy_options_read(s, &spec, options);
}

static void test_values(void)
{
    struct settings s;
    const hcy_spec none = { "toy", "toy", "", NULL, 0 };
    st_ok(read_one(&s, "flag", "1"), "a flag is read");
    ok(s.flag && s.number == 7 && s.count == 8 && s.bytes == 9 && s.word == 2 && !strcmp(s.file, "nowhere"),
       "and nothing else is touched");
    st_ok(hcy_options_read(&s, &none, options), "no options");
    ok(s.flag && s.number == 7, "change nothing");
    st_ok(read_one(&s, "number", "-5"), "the least number");
    is_int(s.number, -5, "is taken");
    st_ok(read_one(&s, "count", "9223372036854775807"), "the largest");
    ok(s.count == INT64_MAX, "too");
    st_ok(read_one(&s, "bytes", "1"), "one byte");
    is_int((intmax_t)s.bytes, 1, "is a size");
    st_ok(read_one(&s, "word", "red"), "the first word");
    is_int(s.word, 0, "is number 0");
    st_ok(read_one(&s, "file", "/a b"), "a string");
    is_str(s.file, "/a b", "stays as it is");
}

static void test_refusals(void)
{
    static const struct {
        const char *key, *value, *words;
    } bad[] = {
        { "flag", "2", "toy@flag=2: 0 or 1 is wanted (a flag)" },
        { "flag", "", "0 or 1" },
        { "number", "4097", "toy@number=4097: a number from -5 to 4096 is wanted (a number)" },
        { "number", "-6", "from -5 to 4096" },
        { "number", "+1", "from -5 to 4096" },
        { "number", " 1", "from -5 to 4096" },
        { "number", "1x", "from -5 to 4096" },
        { "number", "", "from -5 to 4096" },
        { "number", "-", "from -5 to 4096" },
        { "count", "1", "a number of 2 or more is wanted (how many)" },
        { "count", "9223372036854775808", "a number of 2 or more" },
        { "bytes", "0", "a number of 1 or more is wanted (a limit)" },
        { "bytes", "-1", "a number of 1 or more" },
        { "word", "re", "toy@word=re: red, green or blue is wanted (a colour)" },
        { "word", "", "red, green or blue" },
        { "word", "red green", "red, green or blue" },
        { "file", "", "something is wanted (where it is)" },
        { "flags", "1", "toy@flags: there is no such option; toy has flag, number, count, bytes, word, file,"
                        " fail-alloc, fail-launch, lose-launch" },
    };
    struct settings s;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        st_says(read_one(&s, bad[i].key, bad[i].value), HCY_EINVAL, bad[i].words, "%s=%s is refused in words",
                bad[i].key, bad[i].value);
        ok(!s.flag && s.number == 7 && s.word == 2, "and changes no default"); /* whatever it parsed on the way */
    }
}

/* Every device has the HAL's own, and each is counted from one. */
static void test_faults(void)
{
    hcy_device *dev = NULL;
    st_says(hcy_device_open(&dev, "null@fail-launch=0"), HCY_EINVAL, "null@fail-launch=0: a number of 1 or more",
            "no launch is the 0th");
    st_says(hcy_device_open(&dev, "cpu@fail-alloc=x"), HCY_EINVAL, "which allocation fails", "nor the x-th");
    st_ok(hcy_device_open(&dev, "null:1@fail-alloc=1@wait=host"), "other options stay the backend's");
    hcy_device_release(dev);
}

int main(void)
{
    test_values();
    test_refusals();
    test_faults();
    return done_testing();
}
