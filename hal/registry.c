/* registry.c - which devices there are, and what a list of device strings means.
 *
 * Listing asks backends to enumerate; that opens no device.  Kinds ("gpu", "fpga"), "auto" and "all" are resolved
 * here, in the order of loader.c; devices of kind OTHER are taken only when named.
 */
#include "hal_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hcy_list_free(void *list)
{
    free(list);
}

#define MOST_DEVICES 4096 /* of one backend */

/* A name that had no room must not open another device: these dots are no option. */
static void end_name(char *name, size_t size)
{
    name[size - 1] = 0;
    if (strlen(name) == size - 1)
        memcpy(name + size - 4, "...", 3);
}

/* Texts of a module's end somewhere, whatever it wrote there. */
static void end_texts(hcy_device_info *info)
{
    end_name(info->name, sizeof info->name);
    end_name(info->stable, sizeof info->stable);
    info->backend[sizeof info->backend - 1] = info->description[sizeof info->description - 1] = 0;
}

/* What a module's function returned, as a status of this library. */
static int backend_status(int status, const hcy_backend *backend, const char *what)
{
    if (status <= 0)
        return status;
    return hcy_fail(HCY_EBACKEND, "%s: its %s() returns %d, which is no status", backend->name, what, status);
}

/* Appends the devices of one backend to the list. */
static int append_devices(hcy_device_info **list, size_t *n, const hcy_backend *backend)
{
    hcy_device_info *some = NULL;
    size_t k = 0;
    if (!HCY_HAS_OP(backend->ops, list))
        return 0;
    int status = backend_status(backend->ops->list(&some, &k), backend, "list");
    if (status)
        return status;
    if (k > MOST_DEVICES || (k && !some)) {
        free(some);
        return hcy_fail(HCY_EBACKEND, "%s: its list() says that there are %zu devices%s", backend->name, k,
                        some ? "" : ", and gives none");
    }
    for (size_t i = 0; i < k; i++)
        end_texts(&some[i]);
    hcy_device_info *all = k ? realloc(*list, (*n + k) * sizeof *all) : *list;
    if (k && !all) {
        free(some);
        return hcy_fail(HCY_ENOMEM, "out of memory for the list of devices");
    }
    if (k)
        memcpy(all + *n, some, k * sizeof *all);
    *list = all;
    *n += k;
    free(some);
    return 0;
}

int hcy_device_list(hcy_device_info **list, size_t *n)
{
    char(*names)[24] = NULL;
    size_t n_names = 0;
    if (!list || !n)
        return hcy_fail(HCY_EINVAL, "hcy_device_list: no place for the answer");
    *list = NULL;
    *n = 0;
    int status = hcy__backend_names(&names, &n_names);
    for (size_t i = 0; !status && i < n_names; i++) {
        const hcy_backend *backend;
        if (!hcy__backend_load(&backend, names[i], NULL))
            append_devices(list, n, backend); /* a backend that cannot enumerate has no devices */
    }
    free(names);
    if (!status)
        hcy_clear_error();
    return status;
}

static void describe_backend(hcy_backend_info *info, const char *name)
{
    const hcy_backend *backend;
    hcy_device_info *devices = NULL;
    size_t n = 0;
    memset(info, 0, sizeof *info);
    int status = hcy__backend_load(&backend, name, info);
    if (!status)
        status = append_devices(&devices, &n, backend);
    free(devices);
    info->n_devices = n;
    info->status = status;
    if (status) {
        const hcy_error *e = hcy_last_error();
        snprintf(info->reason, sizeof info->reason, "%s%s%s", e->text, *e->vendor ? ": " : "", e->vendor);
    }
}

int hcy_backend_list(hcy_backend_info **list, size_t *n)
{
    char(*names)[24] = NULL;
    size_t n_names = 0;
    if (!list || !n)
        return hcy_fail(HCY_EINVAL, "hcy_backend_list: no place for the answer");
    *list = NULL;
    *n = 0;
    int status = hcy__backend_names(&names, &n_names);
    if (status)
        return status;
    *list = calloc(n_names ? n_names : 1, sizeof **list);
    if (!*list) {
        free(names);
        return hcy_fail(HCY_ENOMEM, "out of memory for the list of backends");
    }
    for (size_t i = 0; i < n_names; i++)
        describe_backend(&(*list)[i], names[i]);
    *n = n_names;
    free(names);
    hcy_clear_error();
    return 0;
}

/* --- Kinds, "auto" and "all" --- */

static int wanted_kind(const char *word)
{
    static const struct {
        const char *word;
        int kind;
    } kinds[] = { { "gpu", HCY_KIND_GPU }, { "fpga", HCY_KIND_FPGA } };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(kinds[i].word, word))
            return kinds[i].kind;
    return 0;
}

static const hcy_device_info *first_of_kind(const hcy_device_info *list, size_t n, int kind, uint32_t without)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].kind == kind && !(list[i].caps & without))
            return &list[i];
    return NULL;
}

static const hcy_device_info *best_device(const hcy_device_info *list, size_t n)
{
    static const int order[] = { HCY_KIND_GPU, HCY_KIND_FPGA, HCY_KIND_CPU };
    const hcy_device_info *found = NULL;
    for (size_t i = 0; !found && i < sizeof order / sizeof order[0]; i++)
        found = first_of_kind(list, n, order[i], HCY_CAP_VIRTUAL | HCY_CAP_SECOND);
    return found;
}

/* Why backends are absent, the first words of each, for a message about a device that is not there. */
static void name_reasons(char *words, size_t size)
{
    hcy_backend_info *list;
    size_t n, used = 0;
    *words = 0;
    if (hcy_backend_list(&list, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        const int cut = strlen(list[i].reason) > 100;
        if (list[i].status && used < size)
            used += (size_t)snprintf(words + used, size - used, "%s: %.*s%s; ", list[i].name, cut ? 97 : 100,
                                     list[i].reason, cut ? "..." : "");
    }
    hcy_list_free(list);
}

/* "gpu@x=y" names the first GPU with that option: *name is its string, malloced.  NULL if `text` is no such word. */
static int resolve_word(char **name, const char *text)
{
    size_t head = strcspn(text, ":@");
    char word[8] = "";
    *name = NULL;
    if (head < sizeof word)
        memcpy(word, text, head);
    /* A longer word than any kind's stays empty, and is then the name of a backend. */
    int kind = wanted_kind(word);
    if (!strcmp(word, "all"))
        return hcy_fail(HCY_EINVAL,
                        "device string \"%s\": \"all\" stands alone, without options and other devices", text);
    /* No name comes back: the string says its backend itself. */
    if (!kind && strcmp(word, "auto"))
        return 0;
    if (text[head] == ':')
        return hcy_fail(HCY_EINVAL,
                        "device string \"%s\": a kind takes no selector; name the backend instead", text);
    hcy_device_info *list;
    size_t n;
    int status = hcy_device_list(&list, &n);
    if (status)
        return status;
    /* The options behind the word are kept and go to whichever device is found. */
    const hcy_device_info *found = kind ? first_of_kind(list, n, kind, 0) : best_device(list, n);
    const char *allowed = getenv("HALCYON_BACKENDS");
    char reasons[360];
    if (!found) {
        name_reasons(reasons, sizeof reasons);
        status = hcy_fail(HCY_ENODEV, "there is no device of kind \"%s\" (%s%.40s%s%s`halcyon devices` lists what there "
                          "is, and why not)", word, allowed ? "HALCYON_BACKENDS is " : "", allowed ? allowed : "",
                          allowed ? "; " : "", reasons);
    } else if (!(*name = malloc(strlen(found->name) + strlen(text + head) + 1)))
        status = hcy_fail(HCY_ENOMEM, "out of memory for a device string");
    else
        sprintf(*name, "%s%s", found->name, text + head);
    free(list);
    return status;
}

/* --- Opening --- */

static void destroy_device(void *object)
{
    hcy_device *dev = object;
    if (hcy__forked())
        return; /* its threads are in the parent */
    hcy__trace_forget(dev);
    hcy__pool_destroy(dev->pool);
    dev->backend->ops->close(dev->impl);
    hcy__notes_destroy(&dev->notes);
    pthread_mutex_destroy(&dev->lock);
    free(dev);
}

static int open_spec(hcy_device **out, struct hcy__spec *spec)
{
    const hcy_backend *backend;
    int status = hcy__backend_load(&backend, spec->spec.backend, NULL);
    if (status)
        return status;
    hcy_device *dev = calloc(1, sizeof *dev);
    if (!dev)
        return hcy_fail(HCY_ENOMEM, "out of memory for a device");
    /* The backend may keep the handle in open(), so it is complete but for what open() finds out. */
    hcy__object_init(dev, destroy_device);
    dev->backend = backend;
    pthread_mutex_init(&dev->lock, NULL);
    hcy__notes_init(&dev->notes);
    snprintf(dev->info.backend, sizeof dev->info.backend, "%s", backend->name);
    status = hcy__faults_take(&dev->faults, spec);
    if (!status)
        status = backend_status(backend->ops->open(&dev->impl, &dev->info, dev, &spec->spec), backend, "open");
    end_texts(&dev->info);
    /* The backend has opened nothing, so destroy_device must not close it. */
    if (status) {
        hcy__notes_destroy(&dev->notes);
        pthread_mutex_destroy(&dev->lock);
        free(dev);
        return status;
    }
    /* From here on the backend's device is open, and a release closes it; before, a child of fork had lost nothing. */
    hcy__fork_watch();
    status = hcy__pool_create(&dev->pool, dev);
    if (status)
        hcy_device_release(dev);
    else
        *out = dev;
    return status;
}

static int open_one(hcy_device **dev, const char *text)
{
    struct hcy__spec spec;
    char *resolved;
    if (hcy__forked())
        return hcy_fail(
            HCY_EFORK,
            "this process was forked after a device had been opened: open devices only after the fork");
    int status = resolve_word(&resolved, text);
    if (!status)
        status = hcy__spec_parse(&spec, resolved ? resolved : text);
    if (!status) {
        status = open_spec(dev, &spec);
        hcy__spec_free(&spec);
    }
    free(resolved);
    return status;
}

static const char *or_default(const char *spec)
{
    if (spec && *spec)
        return spec;
    const char *env = getenv("HALCYON_DEVICE");
    return env && *env ? env : "auto";
}

/* Who named a device that the call did not. */
static int tell_default(int status, const char *spec)
{
    static const char words[] = " (HALCYON_DEVICE names it)";
    const char *env = getenv("HALCYON_DEVICE");
    if (!status || (spec && *spec) || !env || !*env)
        return status;
    hcy_error why = *hcy_last_error();
    const size_t n = strlen(why.text);
    if (n + sizeof words <= sizeof why.text)
        memcpy(why.text + n, words, sizeof words);
    return hcy_fail_again(&why);
}

int hcy_device_open(hcy_device **dev, const char *spec)
{
    if (!dev)
        return hcy_fail(HCY_EINVAL, "hcy_device_open: no place for the device");
    *dev = NULL;
    const char *one = or_default(spec);
    const int status = strchr(one, ',') || !strcmp(one, "all")
                           ? hcy_fail(HCY_EINVAL, "\"%s\" names several devices where one is wanted", one)
                           : open_one(dev, one);
    return tell_default(status, spec);
}

/* Spells "all" out as a list of device strings, which the caller frees. */
static int spell_all(char **text)
{
    hcy_device_info *list;
    size_t n, used = 0;
    int status = hcy_device_list(&list, &n);
    if (status)
        return status;
    *text = calloc(n + 1, sizeof list->name + 1);
    for (size_t i = 0; *text && i < n; i++)
        if (list[i].kind != HCY_KIND_OTHER && !(list[i].caps & HCY_CAP_SECOND))
            used += (size_t)sprintf(*text + used, "%s%s", used ? "," : "", list[i].name);
    free(list);
    if (!*text)
        return hcy_fail(HCY_ENOMEM, "out of memory for the list of devices");
    if (!used) {
        free(*text);
        return hcy_fail(HCY_ENODEV, "there is no device at all (`halcyon devices` says why)");
    }
    return 0;
}

static int open_each(hcy_device **devs, size_t *n, char *text)
{
    for (char *part = text; part;) {
        char *next = strchr(part, ',');
        if (next)
            *next++ = 0;
        if (!*part)
            return hcy_fail(HCY_EINVAL, "an empty device string in the list of devices");
        int status = open_one(&devs[*n], part);
        if (status)
            return status;
        (*n)++;
        part = next;
    }
    return 0;
}

int hcy_device_open_list(hcy_device ***devs, size_t *n, const char *specs)
{
    char *text = NULL;
    if (!devs || !n)
        return hcy_fail(HCY_EINVAL, "hcy_device_open_list: no place for the devices");
    *devs = NULL;
    *n = 0;
    const char *list = or_default(specs);
    int status = 0;
    if (!strcmp(list, "all"))
        status = spell_all(&text);
    else if (!(text = strdup(list)))
        status = hcy_fail(HCY_ENOMEM, "out of memory for a device string");
    if (status)
        return tell_default(status, specs);
    *devs = calloc(strlen(text) + 1, sizeof **devs); /* there cannot be more than characters */
    status = *devs ? open_each(*devs, n, text) : hcy_fail(HCY_ENOMEM, "out of memory for the devices");
    free(text);
    if (status) {
        while (*n)
            hcy_device_release((*devs)[--*n]);
        free(*devs);
        *devs = NULL;
    }
    return tell_default(status, specs);
}
