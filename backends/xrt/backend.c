/* backend.c - the table of the XRT backend, and its entry point.
 *
 * Without XRT, or without its C API, the entry says so and nothing else happens: `halcyon devices` shows the reason.
 */
#include "families.h"
#include "xrt_priv.h"

static const hcy_backend_ops ops = {
    .size = sizeof ops,
    .list = xrt_list,
    .open = xrt_open,
    .close = xrt_close,
    .get_i64 = xrt_get_i64,
    .mem_info = xrt_mem_info,
    .alloc = xrt_alloc,
    .free = xrt_free,
    .import_host = xrt_import_host,
    .unimport = xrt_unimport,
    .hangs = xrt_hangs,
    .queue_create = xrt_queue_create,
    .queue_destroy = xrt_queue_destroy,
    .copy = xrt_copy,
    .fill = xrt_fill,
    .launch = xrt_launch,
    .finish = xrt_finish,
    .finished = xrt_finished,
    .status = xrt_status,
    .record = xrt_record,
    .wait = xrt_wait,
    .event_wait = hcy_hostevent_wait,
    .event_query = hcy_hostevent_query,
    .event_time = hcy_hostevent_time,
    .event_destroy = hcy_hostevent_destroy,
    .kernel_get = xrt_kernel_get,
    .kernel_release = xrt_kernel_release,
    .prepare = xrt_prepare,
    .scratch_size = xrt_scratch_size,
    .preferred_batch = xrt_preferred_batch,
    .program_create = xrt_program_create,
    .program_release = xrt_program_release,
    .program_kernel = xrt_program_kernel,
};

HCY_BACKEND_HEAD(xrt);

HCY_BACKEND_HEAD(xrt)
{
    static const hcy_backend xrt = { HCY_BACKEND_ABI, sizeof xrt, "xrt", &ops, hcy__families };
    if (host_abi != HCY_BACKEND_ABI)
        return hcy_fail(HCY_EABI, "the XRT backend has interface %u, the library wants %u", HCY_BACKEND_ABI,
                        host_abi);
    int status = card_load_library();
    if (!status)
        *backend = &xrt;
    return status;
}
