/* backend.c - the table of the OpenCL backend, and its entry point.
 *
 * Without OpenCL's loader the entry says so and nothing else happens: `halcyon devices` shows the reason.
 */
#include "cl_priv.h"
#include "families.h"

static const hcy_backend_ops ops = {
    .size = sizeof ops,
    .list = cl_list,
    .open = cl_open,
    .close = cl_close,
    .get_i64 = cl_get_i64,
    .mem_info = cl_mem_info,
    .alloc = cl_alloc,
    .free = cl_free,
    .import_host = cl_import_host,
    .import_device = cl_import_device,
    .unimport = cl_unimport,
    .queue_create = cl_queue_create,
    .queue_destroy = cl_queue_destroy,
    .copy = cl_copy,
    .fill = cl_fill,
    .launch = cl_launch,
    .finish = cl_queue_finish,
    .finished = cl_queue_finished,
    .status = cl_queue_status,
    .record = cl_queue_record,
    .wait = cl_queue_wait,
    .event_wait = hcy_hostevent_wait,
    .event_query = hcy_hostevent_query,
    .event_time = hcy_hostevent_time,
    .event_destroy = hcy_hostevent_destroy,
    .kernel_get = cl_kernel_get,
    .kernel_release = cl_kernel_release,
    .prepare = cl_prepare,
    .scratch_size = cl_scratch_size,
    .preferred_batch = cl_preferred_batch,
    .program_create = cl_program_create,
    .program_release = cl_program_release,
    .program_kernel = cl_program_kernel,
    .fft_create = cl_fft_create,
    .fft_release = cl_fft_release,
    .fft_execute = cl_fft_execute,
    .buffer_i64 = cl_buffer_i64,
    .queue_i64 = cl_queue_i64,
    .queue_keep = cl_queue_keep,
    .kernel_i64 = cl_kernel_i64,
};

HCY_BACKEND_HEAD(opencl);

HCY_BACKEND_HEAD(opencl)
{
    static const hcy_backend opencl = { HCY_BACKEND_ABI, sizeof opencl, "opencl", &ops, hcy__families };
    if (host_abi != HCY_BACKEND_ABI)
        return hcy_fail(HCY_EABI, "the OpenCL backend has interface %u, the library wants %u",
                        HCY_BACKEND_ABI, host_abi);
    int status = cl_load();
    if (!status)
        *backend = &opencl;
    return status;
}
