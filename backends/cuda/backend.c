/* backend.c - the table of the CUDA backend, and its entry point.
 *
 * Without an NVIDIA driver the entry says so and nothing else happens: `halcyon devices` shows the reason.
 */
#include "cuda_priv.h"
#include "families.h"

static const hcy_backend_ops ops = {
    .size = sizeof ops,
    .list = cuda_list,
    .open = cuda_open,
    .close = cuda_close,
    .get_i64 = cuda_get_i64,
    .mem_info = cuda_mem_info,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .import_host = cuda_import_host,
    .import_device = cuda_import_device,
    .unimport = cuda_unimport,
    .share_create = cuda_share_create,
    .share_name = cuda_share_name,
    .share_open = cuda_share_open,
    .share_close = cuda_share_close,
    .queue_create = cuda_queue_create,
    .queue_destroy = cuda_queue_destroy,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .launch = cuda_launch,
    .finish = cuda_queue_finish,
    .finished = cuda_queue_finished,
    .status = cuda_queue_status,
    .record = cuda_queue_record,
    .wait = cuda_queue_wait,
    .event_wait = cuda_event_wait,
    .event_query = cuda_event_query,
    .event_time = cuda_event_time,
    .event_destroy = cuda_event_destroy,
    .kernel_get = cuda_kernel_get,
    .kernel_release = cuda_kernel_release,
    .prepare = cuda_prepare,
    .scratch_size = cuda_scratch_size,
    .preferred_batch = cuda_preferred_batch,
    .program_create = cuda_program_create,
    .program_release = cuda_program_release,
    .program_kernel = cuda_program_kernel,
    .fft_create = cuda_fft_create,
    .fft_release = cuda_fft_release,
    .fft_execute = cuda_fft_execute,
    .buffer_i64 = cuda_buffer_i64,
    .queue_i64 = cuda_queue_i64,
    .kernel_i64 = cuda_kernel_i64,
    .profile = cuda_profile,
    .queue_keep = cuda_queue_keep,
    .queue_create_urgent = cuda_queue_create_urgent,
    .program_global = cuda_program_global,
};

HCY_BACKEND_HEAD(cuda);

HCY_BACKEND_HEAD(cuda)
{
    static const hcy_backend cuda = { HCY_BACKEND_ABI, sizeof cuda, "cuda", &ops, hcy__families };
    if (host_abi != HCY_BACKEND_ABI)
        return hcy_fail(HCY_EABI, "the CUDA backend has interface %u, the library wants %u", HCY_BACKEND_ABI,
                        host_abi);
    if (!cuda_load())
        return hcy_last_error()->status;
    *backend = &cuda;
    return 0;
}
