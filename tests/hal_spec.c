/* hal_spec.c - device strings taken apart: selectors, options, percent signs, and strings made of noise. */
#include "hal_priv.h"
#include "tap.h"

static void check(const char *text, const char *backend, const char *selector, size_t n, ...)
{
    struct hcy__spec spec;
    va_list ap;
    if (!is_int(hcy__spec_parse(&spec, text), 0, "\"%s\" is a device string", text))
        return;
    is_str(spec.spec.backend, backend, "its backend");
    is_str(spec.spec.selector, selector, "its selector");
    is_str(spec.spec.text, text, "its text");
    is_int((intmax_t)spec.spec.n_options, (intmax_t)n, "its number of options");
    va_start(ap, n);
    for (size_t i = 0; i < n && i < spec.spec.n_options; i++) {
        is_str(spec.spec.options[i].key, va_arg(ap, const char *), "key %zu", i);
        is_str(spec.spec.options[i].value, va_arg(ap, const char *), "value %zu", i);
    }
    va_end(ap);
    hcy__spec_free(&spec);
}

static void refuse(const char *text, const char *word)
{
    struct hcy__spec spec;
    int status = hcy__spec_parse(&spec, text);
    ok(status == HCY_EINVAL && strstr(hcy_last_error()->text, word), "\"%s\" is refused: %s", text,
       hcy_last_error()->text);
    if (!status)
        hcy__spec_free(&spec);
}

static void test_good(void)
{
    check("cpu", "cpu", "", 0);
    check("cuda:0", "cuda", "0", 0);
    check("xrt:0000:3b:00.1@xclbin=/a/b=c.xclbin", "xrt", "0000:3b:00.1", 1, "xclbin", "/a/b=c.xclbin");
    check("opencl:pocl/0@x=", "opencl", "pocl/0", 1, "x", "");
    check("cpu@threads=4@cores=0-1+4", "cpu", "", 2, "threads", "4", "cores", "0-1+4");
    check("cpu@f=a%2Cb%40c%25d", "cpu", "", 1, "f", "a,b@c%d");
    check("cpu@f=%e2%82%AC", "cpu", "", 1, "f", "\xe2\x82\xac");
    check("cuda:GPU%2d1", "cuda", "GPU-1", 0);
    check("a_1:%40", "a_1", "@", 0);
    check("cpu@a:b=c:d", "cpu", "", 1, "a:b", "c:d");
}

static void test_bad(void)
{
    refuse("", "backend");
    refuse(":0", "backend");
    refuse("@a=b", "backend");
    refuse("Cpu", "C");
    refuse("c-pu", "-");
    refuse("cpu ", " ");
    refuse("../x", ".");
    refuse("abcdefghijklmnopqrstuvwxyz", "long");
    refuse("cpu:", ":");
    refuse("cpu:@a=b", ":");
    refuse("cpu@", "key=value");
    refuse("cpu@a", "@a");
    refuse("cpu@=b", "key=value");
    refuse("cpu@a=b@", "key=value");
    refuse("cpu@a=b@a=c", "twice");
    refuse("cpu@a=%", "%");
    refuse("cpu@a=%2", "%");
    refuse("cpu@a=%2g", "%");
    refuse("cpu@a=%00b", "%");
    refuse("cuda:%zz", "%");
    char many[400] = "cpu";
    for (int i = 0; i < 20; i++)
        sprintf(many + strlen(many), "@k%d=%d", i, i);
    refuse(many, "many");
    struct hcy__spec spec;
    is_int(hcy__spec_parse(&spec, NULL), HCY_EINVAL, "no string at all");
}

/* Percent-encoded as the guide says, every value comes back. */
static void test_round_trip(void)
{
    uint64_t seed = 1;
    int right = 0;
    enum { TURNS = 2000 };
    for (int turn = 0; turn < TURNS; turn++) {
        char value[20], text[80] = "cpu@k=";
        size_t n = 0;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        for (; n < seed >> 60; n++)
            value[n] = (char)((seed >> n * 3) % 255 + 1);
        value[n] = 0;
        for (size_t i = 0; i < n; i++)
            sprintf(text + strlen(text), strchr(",@%", value[i]) ? "%%%02X" : "%c", (unsigned char)value[i]);
        struct hcy__spec spec;
        if (!hcy__spec_parse(&spec, text)) {
            right += spec.spec.n_options == 1 && !strcmp(spec.spec.options[0].value, value);
            hcy__spec_free(&spec);
        }
    }
    is_int(right, TURNS, "%d values come back as they were", TURNS);
}

/* Whatever it is, it is taken apart or refused with words. */
static void test_noise(void)
{
    static const char letters[] = "cpu:@=%0aZ,_ \xff";
    uint64_t seed = 7;
    int good = 0, said = 0;
    enum { TURNS = 100000 };
    for (int turn = 0; turn < TURNS; turn++) {
        char text[24];
        size_t n = 0;
        for (; n < sizeof text - 1; n++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            if (seed >> 60 == 0)
                break;
            text[n] = n < 3 && turn % 2 ? "cpu"[n] : letters[(seed >> 40) % (sizeof letters - 1)];
        }
        text[n] = 0;
        struct hcy__spec spec;
        hcy_clear_error();
        int status = hcy__spec_parse(&spec, text);
        if (!status) {
            good++;
            hcy__spec_free(&spec);
        } else
            said += status == HCY_EINVAL && *hcy_last_error()->text;
    }
    is_int(good + said, TURNS, "%d strings of noise are accepted (%d) or refused with words", TURNS, good);
    ok(good > TURNS / 200 && said > TURNS / 4, "both happen");
}

int main(void)
{
    test_good();
    test_bad();
    test_round_trip();
    test_noise();
    return done_testing();
}
