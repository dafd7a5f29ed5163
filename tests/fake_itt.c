/* fake_itt.c - what a profiler of Intel's brings into a process: at its end it says in the file FAKE_ITT_LOG how often
 * each task began, "DOMAIN NAME TIMES", and how many ends were missing.
 *
 * With -DFAKE_INIT it gets the table of functions and makes neither domains nor names, as Intel's newer ones may;
 * without it all is called by name.  tests/itt.t builds both.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };
struct domain {
    volatile int enabled;
    const char *name;
    void *rest[4];
};
struct string {
    const char *text;
    void *rest[4];
};
struct id {
    unsigned long long d[3];
};

static struct {
    const char *domain, *name;
    int times;
} tasks[MOST];
static int missing;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void begin(const struct domain *domain, struct id id, struct id parent, struct string *name)
{
    int i = 0;
    pthread_mutex_lock(&lock);
    while (i < MOST - 1 && tasks[i].name && strcmp(tasks[i].name, name->text))
        i++;
    tasks[i].domain = domain->name;
    tasks[i].name = name->text;
    tasks[i].times++;
    missing += !id.d[0] && !parent.d[0];
    pthread_mutex_unlock(&lock);
}

static void end(const struct domain *domain)
{
    pthread_mutex_lock(&lock);
    missing -= domain->enabled != 0;
    pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("FAKE_ITT_LOG");
    FILE *log = path ? fopen(path, "w") : NULL;
    for (int i = 0; log && i < MOST && tasks[i].name; i++)
        fprintf(log, "%s %s %d\n", tasks[i].domain, tasks[i].name, tasks[i].times);
    if (log) {
        fprintf(log, "missing %d\n", missing);
        fclose(log);
    }
}

#ifdef FAKE_INIT
struct function {
    const char *name;
    void **place, *first, *none;
    int group;
};
struct global {
    unsigned char magic[8];
    unsigned long version[3];
    volatile long state[3];
    pthread_mutex_t mutex;
    void *library, *error_handler;
    const char **path;
    struct function *functions;
};

void __itt_api_init(struct global *global, int groups);
void __itt_api_init(struct global *global, int groups)
{
    static const unsigned char magic[8] = { 0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30 };
    for (struct function *f = global->functions; f->name; f++)
        if (!memcmp(global->magic, magic, sizeof magic) && global->version[0] == 3 && (f->group & groups) == 1 << 12)
            *f->place = !strcmp(f->name, "__itt_task_begin") ? (void *)begin
                        : !strcmp(f->name, "__itt_task_end") ? (void *)end
                                                             : f->none;
}
#else
struct domain *__itt_domain_create(const char *name);
struct domain *__itt_domain_create(const char *name)
{
    static struct domain domain;
    domain.enabled = 3;
    domain.name = name;
    return &domain;
}

struct string *__itt_string_handle_create(const char *name);
struct string *__itt_string_handle_create(const char *name)
{
    struct string *handle = calloc(1, sizeof *handle);
    if (handle)
        handle->text = name;
    return handle;
}

void __itt_task_begin(const struct domain *domain, struct id id, struct id parent, struct string *name);
void __itt_task_begin(const struct domain *domain, struct id id, struct id parent, struct string *name)
{
    begin(domain, id, parent, name);
}

void __itt_task_end(const struct domain *domain);
void __itt_task_end(const struct domain *domain)
{
    end(domain);
}
#endif
