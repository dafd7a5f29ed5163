/* faults.c - faults that a device string asks for, so that failures can be tried without hardware that fails.
 *
 * Every backend's devices have these options: they are taken out of the string before the backend sees it.
 * Allocations are counted here; launches where a backend runs them (hcy_fault_launch()), because a device fails later
 * than it is told what to do, and that is what is to be tried.  Any thread.
 */
#include "hal_priv.h"

#include <stddef.h>

struct wishes {
    int64_t fail_alloc, fail_launch, lose_launch;
};

#define COUNT(key, member, help) \
    { key, HCY_OPTION_INT, offsetof(struct wishes, member), help, .least = 1, .most = INT64_MAX }
const hcy_option hcy__fault_options[] = {
    COUNT("fail-alloc", fail_alloc, "which allocation fails"),
    COUNT("fail-launch", fail_launch, "which launch fails"),
    COUNT("lose-launch", lose_launch, "which launch loses the device"),
    { .key = NULL },
};

int hcy__faults_take(struct hcy__faults *faults, struct hcy__spec *spec)
{
    struct wishes w = { 0 };
    size_t kept = 0;
    int status = 0;
    for (size_t i = 0; !status && i < spec->spec.n_options; i++) {
        const hcy_option *option = hcy__option_find(hcy__fault_options, spec->options[i].key);
        if (option)
            status = hcy__option_read(&w, &spec->spec, option, spec->options[i].value);
        else
            spec->options[kept++] = spec->options[i];
    }
    spec->spec.n_options = kept;
    atomic_init(&faults->fail_alloc, w.fail_alloc);
    atomic_init(&faults->fail_launch, w.fail_launch);
    atomic_init(&faults->lose_launch, w.lose_launch);
    faults->on = w.fail_alloc || w.fail_launch || w.lose_launch;
    return status;
}

/* Counts one event down; true when it is the one that shall fail. */
static bool strikes(atomic_llong *countdown)
{
    return atomic_load(countdown) > 0 && atomic_fetch_sub(countdown, 1) == 1;
}

int hcy__fault_alloc(hcy_device *dev)
{
    if (!dev->faults.on || !strikes(&dev->faults.fail_alloc))
        return 0;
    return hcy_fail(HCY_ENOMEM, "%s: an allocation failed, as @fail-alloc asked", dev->info.name);
}

int hcy_fault_launch(hcy_device *dev)
{
    if (!dev)
        return hcy_fail(HCY_EINVAL, "hcy_fault_launch: no device");
    if (!dev->faults.on)
        return 0;
    if (strikes(&dev->faults.lose_launch))
        return hcy_device_lose(dev, "a launch, as @lose-launch asked");
    if (strikes(&dev->faults.fail_launch))
        return hcy_fail(HCY_ELAUNCH, "%s: a launch failed, as @fail-launch asked", dev->info.name);
    return 0;
}
