/* compare_machine.c - what a report says of the machine that it was made on. */
#include "compare.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The value of the first line of a file of /proc that begins with `key`; "" if there is none. */
static void read_proc(char *value, size_t size, const char *path, const char *key)
{
    char line[512];
    FILE *in = fopen(path, "r");
    *value = '\0';
    while (in && !*value && fgets(line, sizeof line, in)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) || !colon)
            continue;
        snprintf(value, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        value[strcspn(value, "\n")] = '\0';
    }
    if (in)
        fclose(in);
}

json_t *compare_machine(void)
{
    json_t *machine = json_object();
    struct utsname is;
    char processor[256], governor[64];
    if (!uname(&is)) {
        value_put_text(machine, "host", is.nodename);
        value_put_format(machine, "system", "%s %s %s", is.sysname, is.release, is.machine);
    }
    read_proc(processor, sizeof processor, "/proc/cpuinfo", "model name");
    value_put_text(machine, "processor", *processor ? processor : NULL);
    value_put(machine, "processors_online", (double)sysconf(_SC_NPROCESSORS_ONLN));
    value_put(machine, "memory_bytes", (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
    /* Others who use the machine make every figure worse, and the reader should know. */
    double load[1];
    value_put(machine, "load_before", getloadavg(load, 1) == 1 ? load[0] : NAN);
    FILE *in = fopen("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "r");
    int read = in ? fscanf(in, "%63s", governor) : 0;
    if (in)
        fclose(in);
    value_put_text(machine, "governor", read == 1 ? governor : NULL);
    return machine;
}
