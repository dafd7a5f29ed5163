/* nulls.c - every public function with NULL for every pointer and 0 for every number: none crashes, and what has a
 * status says HCY_EINVAL, but where NULL means something.  Each call is made in a child of its own.  tests/symbols.t
 * looks whether a function is missing here. */
#include "tap.h"

#include <halcyon/density.h>
#include <halcyon/host_array.h>
#include <halcyon/backend.h>
#include <halcyon/calibrate.h>
#include <halcyon/eval.h>
#include <halcyon/finufft.h>
#include <halcyon/nufft.h>
#include <halcyon/operator.h>
#include <halcyon/pipeline.h>
#include <halcyon/solve.h>
#include <halcyon/stream.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MADE = 0, ANY = 77, WRONG_STATUS = 2 }; /* ANY: it has no status, or one that says nothing of NULL */

/* Makes call number `which`, and says what it is and what it returns; 0: there are fewer. */
static int make_call(int which, const char **text, int *want, int *got)
{
    int at = 0;
#define MAKE(status, words, call)  \
    if (at++ == which) {           \
        *text = words;             \
        *want = status;            \
        if (got)                   \
            *got = (call);         \
        return 1;                  \
    }
#define CALL(status, call) MAKE(status, #call, call)
#define INVALID(call) MAKE(HCY_EINVAL, #call, call)
#define NOTHING(call) MAKE(ANY, #call, ((void)(call), ANY))
    /* status.h */
    NOTHING(hcy_status_name(0))
    NOTHING(hcy_status_text(0))
    NOTHING(hcy_last_error())
    NOTHING(hcy_clear_error())
    NOTHING(hcy_version())
    CALL(HCY_EINVAL, hcy_fail_at(NULL, 0, HCY_EINVAL, "%s", ""))
    CALL(HCY_EINVAL, hcy_fail_vendor_at(NULL, 0, HCY_EINVAL, 0, NULL, "%s", ""))
    INVALID(hcy_fail_again(NULL))
    /* device.h */
    INVALID(hcy_device_list(NULL, NULL))
    INVALID(hcy_backend_list(NULL, NULL))
    NOTHING(hcy_list_free(NULL))
    INVALID(hcy_device_open(NULL, NULL))
    INVALID(hcy_device_open_list(NULL, NULL, NULL))
    NOTHING(hcy_device_retain(NULL))
    NOTHING(hcy_device_release(NULL))
    NOTHING(hcy_device_get_info(NULL))
    INVALID(hcy_device_get_i64(NULL, NULL, NULL))
    INVALID(hcy_device_mem_info(NULL, NULL, NULL))
    INVALID(hcy_device_status(NULL))
    INVALID(hcy_device_pool_stats(NULL, NULL))
    INVALID(hcy_device_pool_trim(NULL))
    /* buffer.h */
    INVALID(hcy_buffer_create(NULL, NULL, 0, 0))
    INVALID(hcy_buffer_sub(NULL, NULL, 0, 0))
    INVALID(hcy_buffer_import_host(NULL, NULL, NULL, 0, NULL, NULL))
    INVALID(hcy_buffer_import_device(NULL, NULL, 0, 0, NULL, NULL))
    NOTHING(hcy_buffer_retain(NULL))
    NOTHING(hcy_buffer_release(NULL))
    NOTHING(hcy_buffer_size(NULL))
    NOTHING(hcy_buffer_mem(NULL))
    NOTHING(hcy_buffer_device(NULL))
    NOTHING(hcy_buffer_host(NULL))
    INVALID(hcy_buffer_get_i64(NULL, NULL, NULL))
    INVALID(hcy_buffer_write(NULL, NULL, 0, NULL, 0))
    INVALID(hcy_buffer_read(NULL, NULL, NULL, 0, 0))
    INVALID(hcy_buffer_copy(NULL, NULL, 0, NULL, 0, 0))
    INVALID(hcy_buffer_fill(NULL, NULL, 0, 0, NULL, 0))
    INVALID(hcy_buffer_copy_rect(NULL, NULL, NULL, NULL, NULL, NULL))
    INVALID(hcy_buffer_write_now(NULL, 0, NULL, 0))
    INVALID(hcy_buffer_read_now(NULL, NULL, 0, 0))
    /* queue.h */
    INVALID(hcy_queue_create(NULL, NULL))
    NOTHING(hcy_queue_retain(NULL))
    NOTHING(hcy_queue_release(NULL))
    NOTHING(hcy_queue_device(NULL))
    INVALID(hcy_queue_get_i64(NULL, NULL, NULL))
    INVALID(hcy_queue_finish(NULL))
    INVALID(hcy_queue_finish_within(NULL, 0))
    INVALID(hcy_queue_status(NULL))
    INVALID(hcy_event_record(NULL, NULL))
    INVALID(hcy_queue_wait(NULL, NULL))
    NOTHING(hcy_event_retain(NULL))
    NOTHING(hcy_event_release(NULL))
    INVALID(hcy_event_wait(NULL, 0))
    INVALID(hcy_event_query(NULL, NULL))
    INVALID(hcy_event_time(NULL, NULL))
    /* kernel.h */
    INVALID(hcy_kernel_get(NULL, NULL, NULL))
    NOTHING(hcy_kernel_retain(NULL))
    NOTHING(hcy_kernel_release(NULL))
    NOTHING(hcy_kernel_signature(NULL))
    NOTHING(hcy_kernel_variant(NULL))
    INVALID(hcy_kernel_get_i64(NULL, NULL, NULL))
    INVALID(hcy_kernel_prepare(NULL, NULL, NULL, 0))
    INVALID(hcy_kernel_prepare_few(NULL, NULL, NULL, 0))
    INVALID(hcy_kernel_scratch_size(NULL, NULL, 0, NULL, 0))
    INVALID(hcy_kernel_preferred_batch(NULL, NULL, NULL, 0))
    INVALID(hcy_launch(NULL, NULL, 0, NULL, 0))
    INVALID(hcy_program_create(NULL, NULL, NULL, NULL, 0, NULL))
    NOTHING(hcy_program_retain(NULL))
    NOTHING(hcy_program_release(NULL))
    NOTHING(hcy_program_log(NULL))
    INVALID(hcy_program_kernel(NULL, NULL, NULL, NULL))
    INVALID(hcy_launch_grid(NULL, NULL, NULL, NULL, 0))
    /* fft.h */
    INVALID(hcy_fft_create(NULL, NULL, NULL))
    NOTHING(hcy_fft_retain(NULL))
    NOTHING(hcy_fft_release(NULL))
    NOTHING(hcy_fft_workspace(NULL))
    NOTHING(hcy_fft_sizes(NULL, NULL, NULL, 0))
    INVALID(hcy_fft_execute(NULL, NULL, NULL, 0, NULL, NULL))
    /* backend.h */
    INVALID(hcy_options_read(NULL, NULL, NULL))
    INVALID(hcy_fault_launch(NULL))
    NOTHING(hcy_memory_left())
    NOTHING(hcy_copy_past_caches(NULL, NULL, 0))
    NOTHING(hcy_processors())
    NOTHING(hcy_family_hash(NULL))
    INVALID(hcy_family_register(NULL, NULL, 0))
    NOTHING(hcy_keep_release(NULL))
    NOTHING(hcy_device_impl(NULL))
    NOTHING(hcy_event_impl(NULL))
    NOTHING(hcy_event_device(NULL))
    INVALID(hcy_device_lose(NULL, "%s", ""))
    NOTHING(hcy_now_ns())
    NOTHING(hcy_trace_span(NULL, NULL, NULL, 0, 0, 0))
    NOTHING(hcy_trace_on())
    NOTHING(hcy_trace_name_queue(NULL, NULL))
    NOTHING(hcy_trace_frames(NULL, 0, 0))
    NOTHING(hcy_trace_begin())
    NOTHING(hcy_trace_end(1, NULL, 0, 0, 0))
    NOTHING(hcy_trace_name_thread(NULL))
    CALL(MADE, hcy_fork_check())
    INVALID(hcy_size_mul(NULL, 0, 0))
    INVALID(hcy_size_add(NULL, 0, 0))
    CALL(HCY_ENOENT, hcy_cache_folder(NULL, 0, NULL))
    CALL(HCY_ENOENT, hcy_cache_open(NULL, NULL))
    CALL(HCY_ENOENT, hcy_cache_read(NULL, NULL, NULL, 0))
    NOTHING(hcy_cache_sum(NULL, 0))
    CALL(HCY_ENOENT, hcy_cache_write(NULL, NULL, 0, NULL, 0))
    INVALID(hcy_output_open(NULL, NULL, 0))
    NOTHING(hcy_output_fd(NULL))
    INVALID(hcy_output_write(NULL, NULL, 0, 0))
    NOTHING(hcy_output_stream(NULL))
    NOTHING(hcy_output_name(NULL))
    NOTHING(hcy_output_place(NULL))
    INVALID(hcy_output_commit(NULL, 0))
    INVALID(hcy_output_keep(NULL))
    NOTHING(hcy_output_discard(NULL))
    NOTHING(hcy_output_abandon())
    INVALID(hcy_hostqueue_create(NULL, NULL, NULL))
    NOTHING(hcy_hostqueue_destroy(NULL))
    INVALID(hcy_hostqueue_submit(NULL, NULL, 0, NULL, NULL, 0, NULL))
    NOTHING(hcy_hostqueue_ran(0, 0))
    INVALID(hcy_hostqueue_copy(NULL, NULL, NULL))
    INVALID(hcy_hostqueue_fill(NULL, NULL, 0, NULL, 0, NULL))
    INVALID(hcy_hostqueue_finish(NULL))
    INVALID(hcy_hostqueue_finished(NULL))
    INVALID(hcy_hostqueue_status(NULL))
    INVALID(hcy_hostqueue_record(NULL, NULL))
    INVALID(hcy_hostqueue_wait(NULL, NULL))
    INVALID(hcy_hostevent_wait(NULL, 0))
    INVALID(hcy_hostevent_query(NULL, NULL))
    INVALID(hcy_hostevent_time(NULL, NULL))
    NOTHING(hcy_hostevent_destroy(NULL))
    INVALID(hcy_host_copy(NULL))
    INVALID(hcy_host_fill(NULL, 0, NULL, 0))
    /* azint.h */
    NOTHING(hcy_detector_list(NULL))
    INVALID(hcy_detector_find(NULL, NULL))
    INVALID(hcy_detector_mask(NULL, NULL, 0, 0))
    INVALID(hcy_poni_read(NULL, NULL))
    INVALID(hcy_poni_parse(NULL, NULL, 0, NULL))
    INVALID(hcy_poni_format(NULL, 0, NULL, NULL))
    NOTHING(hcy_azint_unit_list(NULL))
    INVALID(hcy_azint_plan_create(NULL, NULL, 0, 0, NULL))
    NOTHING(hcy_azint_plan_retain(NULL))
    NOTHING(hcy_azint_plan_release(NULL))
    INVALID(hcy_azint_map(NULL, NULL, NULL, 0, 0, NULL, 1))
    INVALID(hcy_azint_plan_get_info(NULL, NULL))
    NOTHING(hcy_azint_plan_tables(NULL, NULL))
    INVALID(hcy_azint_plan_job(NULL, NULL, 0))
    INVALID(hcy_azint_plan_narrow(NULL, NULL))
    INVALID(hcy_azint_plan_filter(NULL, NULL))
    NOTHING(hcy_azint_plan_norms(NULL))
    INVALID(hcy_azint_result_create(NULL, NULL))
    INVALID(hcy_azint_result_create_means(NULL, NULL))
    NOTHING(hcy_azint_result_destroy(NULL))
    INVALID(hcy_azint_finish(NULL, NULL, NULL, NULL, NULL, 0))
    INVALID(hcy_azint_plan_get_norms(NULL, NULL))
    INVALID(hcy_azint_result_add(NULL, NULL, 0))
    INVALID(hcy_azint_result_merge(NULL, 0, 0))
    /* calibrate.h */
    NOTHING(hcy_calibrant_list(NULL))
    INVALID(hcy_calibrant_find(NULL, NULL))
    INVALID(hcy_calibrant_spacings(NULL, NULL, 0, NULL, 0))
    INVALID(hcy_poni_gradients(NULL, NULL, NULL, 0, 0, NULL, NULL, 0))
    INVALID(hcy_poni_refine(NULL, NULL, 0, 0, NULL, 0, 0))
    /* bslz4.h */
    INVALID(hcy_bslz4_block_count(NULL, NULL, NULL, 0))
    INVALID(hcy_bslz4_parse(NULL, NULL, 0, NULL, NULL, NULL, 0))
    INVALID(hcy_bslz4_encode_bound(NULL, NULL))
    INVALID(hcy_bslz4_encode(NULL, NULL, 0, NULL, NULL))
    INVALID(hcy_bslz4_decode(NULL, NULL, NULL, NULL, NULL, 0))
    /* finufft.h: its own statuses */
    NOTHING(hcy_finufft_default_opts(NULL))
    CALL(FINUFFT_ERR_INVALID_ARGUMENT, hcy_finufft_makeplan(0, 0, 0, NULL, 0, 0, 0, NULL, NULL))
    CALL(FINUFFT_ERR_PLAN_NOTVALID, hcy_finufft_setpts(NULL, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL))
    CALL(FINUFFT_ERR_PLAN_NOTVALID, hcy_finufft_execute(NULL, NULL, NULL, 0))
    CALL(1, hcy_finufft_destroy(NULL))
    CALL(FINUFFT_ERR_INVALID_ARGUMENT, hcy_finufft_simple(0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL,
                                                          NULL, NULL, NULL))
    /* nufft.h */
    INVALID(hcy_nufft_create(NULL, NULL, NULL, NULL))
    NOTHING(hcy_nufft_destroy(NULL))
    INVALID(hcy_nufft_set_points(NULL, 0, NULL, 0, NULL))
    INVALID(hcy_nufft_set_point_buffers(NULL, 0, NULL))
    INVALID(hcy_nufft_set_points_each(NULL, NULL, NULL, NULL, NULL))
    INVALID(hcy_nufft_execute(NULL, NULL, NULL))
    INVALID(hcy_nufft_execute_adjoint(NULL, NULL, NULL))
    INVALID(hcy_nufft_submit(NULL, NULL, NULL, NULL, 0))
    INVALID(hcy_nufft_submit_stage(NULL, NULL, NULL, 0, NULL))
    INVALID(hcy_nufft_execute_stage(NULL, NULL, 0, NULL))
    INVALID(hcy_nufft_submit_self_adjoint(NULL, NULL, NULL, NULL))
    INVALID(hcy_density_weights(NULL, NULL, NULL, 0, NULL))
    INVALID(hcy_nufft_run(NULL, NULL, 0, NULL, 0, NULL, NULL, NULL))
    INVALID(hcy_nufft_split_create(NULL, NULL, 0, NULL, NULL))
    NOTHING(hcy_nufft_split_destroy(NULL))
    INVALID(hcy_nufft_split_set_points(NULL, 0, NULL, 0, NULL))
    INVALID(hcy_nufft_split_execute(NULL, NULL, NULL, 0))
    INVALID(hcy_nufft_split_share(NULL, NULL, NULL, 0))
    INVALID(hcy_nufft_get_info(NULL, NULL))
    /* pipeline.h */
    NOTHING(hcy_pipeline_source_of(NULL))
    INVALID(hcy_pipeline_create(NULL, NULL, 0, NULL, NULL, NULL))
    NOTHING(hcy_pipeline_destroy(NULL))
    INVALID(hcy_pipeline_run(NULL, NULL, 0, 0, NULL, NULL, NULL))
    NOTHING(hcy_pipeline_cancel(NULL))
    NOTHING(hcy_pipeline_get_stats(NULL))
    INVALID(hcy_pipeline_start(NULL, NULL))
    INVALID(hcy_pipeline_submit(NULL, NULL, 0, 0, NULL, NULL))
    INVALID(hcy_pipeline_poll(NULL, NULL, 0))
    INVALID(hcy_pipeline_flush(NULL))
    INVALID(hcy_pipeline_finish(NULL))
    NOTHING(hcy_pipeline_bound_name(-1))
    INVALID(hcy_shard_frames(NULL, NULL, NULL))
    INVALID(hcy_shard_read(NULL, NULL, NULL))
    INVALID(hcy_shards_check(NULL, NULL, 0))
    INVALID(hcy_curves_merge(NULL, NULL, NULL, 0, 0))
    /* stream.h */
    INVALID(hcy_stream_decode(NULL, NULL, 0))
    NOTHING(hcy_stream_begins(NULL, 0, 0))
    INVALID(hcy_stream_find_channel(NULL, NULL, NULL))
    INVALID(hcy_stream_chunk(NULL, NULL, 0, NULL))
    NOTHING(hcy_stream_chunk_room(NULL))
    NOTHING(hcy_stream_detector(NULL, NULL))
    INVALID(hcy_stream_corrections(NULL, NULL, 0, 0, NULL))
    /* array.h */
    INVALID(hcy_array_empty(NULL, NULL, 0, 0, NULL))
    INVALID(hcy_array_full(NULL, NULL, 0, 0, NULL, 0))
    INVALID(hcy_array_from_host(NULL, NULL, 0, 0, NULL, NULL))
    INVALID(hcy_array_of_buffer(NULL, NULL, 0, 0, NULL, NULL, 0))
    INVALID(hcy_array_from_file(NULL, NULL, NULL))
    NOTHING(hcy_array_retain(NULL))
    NOTHING(hcy_array_release(NULL))
    INVALID(hcy_array_get_info(NULL, NULL))
    INVALID(hcy_array_to_host(NULL, NULL, NULL))
    INVALID(hcy_array_to_file(NULL, NULL, NULL))
    INVALID(hcy_array_copy(NULL, NULL, NULL))
    INVALID(hcy_array_to_device(NULL, NULL, NULL, NULL))
    INVALID(hcy_array_take(NULL, NULL, NULL, NULL, 0))
    INVALID(hcy_array_put(NULL, NULL, NULL, NULL, 0))
    INVALID(hcy_array_concatenate(NULL, NULL, NULL, 0, 0))
    INVALID(hcy_array_stack(NULL, NULL, NULL, 0, 0))
    INVALID(hcy_array_sort(NULL, NULL, NULL, 0))
    INVALID(hcy_array_argsort(NULL, NULL, NULL, 0))
    INVALID(hcy_array_histogram(NULL, NULL, NULL, 0, 1))
    INVALID(hcy_array_slice(NULL, NULL, "%s", ""))
    INVALID(hcy_array_reshape(NULL, NULL, 0, NULL))
    INVALID(hcy_array_transpose(NULL, NULL, NULL))
    INVALID(hcy_array_broadcast(NULL, NULL, 0, NULL))
    INVALID(hcy_array_part(NULL, NULL, 0))
    INVALID(hcy_array_to_dlpack(NULL, NULL, NULL))
    INVALID(hcy_array_from_dlpack(NULL, NULL, NULL))
    INVALID(hcy_array_from_dlpack_plain(NULL, NULL, NULL))
    NOTHING(hcy_dtype_size(0))
    NOTHING(hcy_dtype_name(0))
    INVALID(hcy_eval(NULL, NULL, NULL, 0))
    /* operator.h */
    INVALID(hcy_operator_create(NULL, NULL, NULL))
    NOTHING(hcy_operator_retain(NULL))
    NOTHING(hcy_operator_release(NULL))
    INVALID(hcy_operator_get_info(NULL, NULL))
    INVALID(hcy_operator_apply(NULL, NULL, NULL, NULL))
    INVALID(hcy_operator_apply_adjoint(NULL, NULL, NULL, NULL))
    INVALID(hcy_operator_dot_test(NULL, NULL, NULL, 0, 0))
    INVALID(hcy_operator_identity(NULL, NULL, NULL))
    INVALID(hcy_operator_diagonal(NULL, NULL, NULL))
    INVALID(hcy_operator_scale(NULL, NULL, 0, 0))
    INVALID(hcy_operator_adjoint(NULL, NULL))
    INVALID(hcy_operator_compose(NULL, NULL, 0))
    INVALID(hcy_operator_reshape(NULL, NULL, NULL, NULL))
    INVALID(hcy_operator_sum(NULL, NULL, 0))
    INVALID(hcy_operator_vstack(NULL, NULL, 0))
    INVALID(hcy_operator_hstack(NULL, NULL, 0))
    INVALID(hcy_operator_block_diagonal(NULL, NULL, 0))
    INVALID(hcy_operator_matrix(NULL, NULL))
    INVALID(hcy_operator_difference(NULL, NULL, NULL, 0, 0, 0))
    INVALID(hcy_operator_laplacian(NULL, NULL, NULL, NULL))
    INVALID(hcy_operator_gradient(NULL, NULL, NULL, 0))
    INVALID(hcy_operator_differences(NULL, NULL, NULL))
    INVALID(hcy_differences_reach(NULL, NULL, NULL))
    INVALID(hcy_operator_apply_rows(NULL, NULL, NULL, NULL, 0, 0))
    INVALID(hcy_operator_nufft(NULL, NULL))
    INVALID(hcy_operator_fft(NULL, NULL, NULL, 0))
    /* solve.h */
    INVALID(hcy_solver_create(NULL, NULL, NULL, NULL))
    NOTHING(hcy_solver_destroy(NULL))
    INVALID(hcy_solver_start(NULL, NULL, NULL))
    INVALID(hcy_solver_step(NULL))
    INVALID(hcy_solver_run(NULL, 0))
    INVALID(hcy_solver_get_x(NULL, NULL))
    INVALID(hcy_solver_residuals(NULL, NULL, 0, NULL))
    INVALID(hcy_solver_get_info(NULL, NULL))
    INVALID(hcy_operator_norm(NULL, NULL, NULL, 0, 0))
    INVALID(hcy_host_array_read(NULL, NULL))
    INVALID(hcy_host_array_write(NULL, NULL))
    NOTHING(hcy_host_array_free(NULL))
    INVALID(hcy_host_array_count(NULL, NULL))
    /* stack.h */
    INVALID(hcy_stack_open(NULL, NULL, NULL))
    NOTHING(hcy_stack_close(NULL))
    NOTHING(hcy_stack_get_info(NULL))
    INVALID(hcy_stack_open_with(NULL, NULL, NULL))
    INVALID(hcy_stack_open_files(NULL, NULL, 0, NULL))
    INVALID(hcy_files_find(NULL, NULL, NULL))
    INVALID(hcy_stack_refresh(NULL, 0))
    INVALID(hcy_isolation_set(NULL))
    INVALID(hcy_stack_frame_size(NULL, NULL, 0))
    INVALID(hcy_stack_read(NULL, NULL, 0, NULL, 0))
    INVALID(hcy_image_read(NULL, NULL))
    INVALID(hcy_image_find(NULL, NULL, NULL))
    NOTHING(hcy_image_free(NULL))
    NOTHING(hcy_image_to_mask(NULL, NULL))
    INVALID(hcy_numbers_read(NULL, NULL, NULL, 0))
    NOTHING(hcy_image_to_floats(NULL, NULL))
    INVALID(hcy_images_read(NULL, 0, 0, 0, NULL))
    INVALID(hcy_stack_convert(NULL, NULL))
    INVALID(hcy_stack_files(NULL, NULL, NULL))
    INVALID(hcy_numbered_path(NULL, 0, NULL, 0))
    INVALID(hcy_format_of(NULL, NULL, 0))
    NOTHING((void)hcy_file_length(NULL))
    INVALID(hcy_detector_read(NULL, NULL))
    NOTHING(hcy_detector_info_free(NULL))
    NOTHING(hcy_detector_to_poni(NULL, NULL))
    INVALID(hcy_detector_geometry(NULL, NULL, 0, 0))
    INVALID(hcy_corrections_read(NULL, NULL, NULL, 0))
    NOTHING(hcy_corrections_use(NULL, NULL, NULL))
    NOTHING(hcy_corrections_free(NULL))
    INVALID(hcy_stack_create(NULL, NULL, NULL))
    INVALID(hcy_stack_write(NULL, 0, NULL))
    INVALID(hcy_stack_write_chunk(NULL, 0, NULL, 0))
    NOTHING(hcy_stack_writer_bytes(NULL))
    CALL(MADE, hcy_stack_writer_close(NULL))
    NOTHING(hcy_stack_writer_discard(NULL))
    INVALID(hcy_curves_open(NULL, NULL, NULL, NULL))
    INVALID(hcy_curves_append(NULL, 0, NULL, NULL))
    INVALID(hcy_curves_append_regions(NULL, 0, NULL, NULL, NULL))
    INVALID(hcy_sparse_create(NULL, NULL, NULL, NULL))
    INVALID(hcy_sparse_append(NULL, NULL, NULL))
    CALL(0, hcy_sparse_close(NULL, 0))
    INVALID(hcy_azint_radius(NULL, NULL, NULL))
    INVALID(hcy_curves_remark(NULL, NULL, NULL))
    CALL(MADE, hcy_curves_close(NULL))
    CALL(MADE, hcy_curves_stop(NULL, 0, NULL))
    INVALID(hcy_config_read(NULL, NULL))
    NOTHING(hcy_config_free(NULL))
    INVALID(hcy_config_write(NULL, NULL, NULL))
    INVALID(hcy_results_open(NULL, NULL))
    NOTHING(hcy_results_get_info(NULL))
    INVALID(hcy_results_read(NULL, NULL, NULL, NULL, 0))
    NOTHING(hcy_results_close(NULL))
    return 0;
}

static int in_child(int which)
{
    const char *text;
    int want, got, status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        bail_out("no child");
    if (!pid) {
        alarm(20);
        make_call(which, &text, &want, &got);
        if (got != want)
            printf("# %s: %s (%d)\n", text, hcy_status_name(got), got);
        else if (got == HCY_EINVAL && hcy_last_error()->status != got)
            printf("# %s: no words\n", text);
        else
            _exit(0);
        fflush(stdout);
        _exit(WRONG_STATUS);
    }
    if (waitpid(pid, &status, 0) != pid)
        bail_out("a child is lost");
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int main(void)
{
    const char *text;
    int want, n = 0;
    for (; make_call(n, &text, &want, NULL); n++) {
        int result = in_child(n);
        ok(!result, "%.*s", (int)strcspn(text, "("), text);
        if (result < 0)
            diag("%s: signal %d", text, -result);
    }
    ok(n > 190, "all of %d functions", n);
    return done_testing();
}
