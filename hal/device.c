/* device.c - an open device: what it says of itself, whether it is lost, forked processes.  Thread-safe. */
#include "hal_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- Forks --- */

static pthread_once_t watch_once = PTHREAD_ONCE_INIT;
static atomic_bool forked;

static void note_fork(void)
{
    atomic_store(&forked, true);
}

static void start_watch(void)
{
    pthread_atfork(NULL, NULL, note_fork);
}

void hcy__fork_watch(void)
{
    pthread_once(&watch_once, start_watch);
}

bool hcy__forked(void)
{
    return atomic_load_explicit(&forked, memory_order_relaxed);
}

int hcy_fork_check(void)
{
    return hcy__forked() ? hcy_fail(HCY_EFORK, "a device was opened before this process forked: open devices, and what "
                                               "is made of them, only after the fork")
                         : 0;
}

/* --- State --- */

int hcy__device_check(hcy_device *dev)
{
    if (!dev)
        return hcy_fail(HCY_EINVAL, "no device");
    if (hcy__forked())
        return hcy_fail(HCY_EFORK,
                        "device %s was opened before this process forked: open devices only after the fork",
                        dev->info.name);
    if (!atomic_load_explicit(&dev->is_lost, memory_order_acquire))
        return 0;
    return hcy_fail_again(&dev->lost);
}

int hcy__unsupported(const hcy_device *dev, const char *what)
{
    return hcy_fail(HCY_EUNSUPPORTED, "device %s has no %s", dev->info.name, what);
}

int hcy_device_lose(hcy_device *dev, const char *fmt, ...)
{
    if (!dev || !fmt)
        return hcy_fail(HCY_EINVAL, "hcy_device_lose: no device, or no cause");
    char cause[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(cause, sizeof cause, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&dev->lock);
    if (!atomic_load(&dev->is_lost)) {
        hcy_fail(HCY_ELOST, "device %s is lost: %s", dev->info.name, cause);
        dev->lost = *hcy_last_error();
        atomic_store_explicit(&dev->is_lost, true, memory_order_release);
    }
    pthread_mutex_unlock(&dev->lock);
    return hcy_fail_again(&dev->lost);
}

int hcy_device_status(hcy_device *dev)
{
    return hcy__device_check(dev);
}

/* --- What it says of itself --- */

hcy_device *hcy_device_retain(hcy_device *dev)
{
    return hcy__retain(dev);
}

void hcy_device_release(hcy_device *dev)
{
    hcy__release(dev);
}

const char *hcy__opened_twice(const hcy_device *a, const hcy_device *b)
{
    return strcmp(a->info.name, b->info.name) ? ""
                                              : ", which was opened twice: take queues and buffers of one of the two";
}

const hcy_device_info *hcy_device_get_info(const hcy_device *dev)
{
    return dev ? &dev->info : NULL;
}

void *hcy_device_impl(const hcy_device *dev)
{
    return dev ? dev->impl : NULL;
}

int hcy_device_get_i64(int64_t *value, hcy_device *dev, const char *key)
{
    int status = hcy__device_check(dev);
    if (status)
        return status;
    if (!key || !value)
        return hcy_fail(HCY_EINVAL, "hcy_device_get_i64: no key, or no place for the value");
    if (!HCY_HAS_OP(dev->backend->ops, get_i64))
        return hcy_fail(HCY_ENOENT, "device %s has no number \"%s\"", dev->info.name, key);
    return dev->backend->ops->get_i64(value, dev->impl, key);
}

int hcy_device_mem_info(uint64_t *free_bytes, uint64_t *total_bytes, hcy_device *dev)
{
    int status = hcy__device_check(dev);
    if (status)
        return status;
    if (!free_bytes || !total_bytes)
        return hcy_fail(HCY_EINVAL, "hcy_device_mem_info: no place for the answer");
    if (!HCY_HAS_OP(dev->backend->ops, mem_info))
        return hcy__unsupported(dev, "memory count");
    return dev->backend->ops->mem_info(free_bytes, total_bytes, dev->impl);
}

/* --- Its vendor's profiler --- */

static int tell_profiler(hcy_device *dev, int begin)
{
    int status = hcy__device_check(dev);
    if (status)
        return status;
    if (!HCY_HAS_OP(dev->backend->ops, profile))
        return hcy__unsupported(dev, "profiler that a program starts and stops");
    return dev->backend->ops->profile(dev->impl, begin);
}

int hcy_profiler_start(hcy_device *dev)
{
    return tell_profiler(dev, 1);
}

int hcy_profiler_stop(hcy_device *dev)
{
    return tell_profiler(dev, 0);
}

/* --- Its pool --- */

int hcy_device_pool_stats(hcy_pool_stats *stats, hcy_device *dev)
{
    int status = hcy__device_check(dev);
    if (status)
        return status;
    if (!stats)
        return hcy_fail(HCY_EINVAL, "hcy_device_pool_stats: no place for the answer");
    hcy__pool_get_stats(dev->pool, stats);
    return 0;
}

int hcy_device_pool_trim(hcy_device *dev)
{
    int status = hcy__device_check(dev);
    if (!status)
        hcy__pool_trim(dev->pool);
    return status;
}
