/* receiver.c - patterns of frames as they are received: receiver STACK.h5 GEOMETRY.poni [DEVICES] */
#include <halcyon/device.h>
#include <halcyon/pipeline.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFERS = 64 }; /* of the ring; a frame that finds none free waits */

/* In a thread of the pipeline's, frame after frame in the order of submission. */
static int take_pattern(void *file, const hcy_pipeline_frame *frame)
{
    const hcy_azint_result *pattern = frame->result; /* NULL: this frame failed, and the others go on */
    fprintf(file, "# frame %u %s\n", (unsigned)frame->number, frame->why);
    for (size_t i = 0; pattern && i < pattern->n_bins; i++)
        fprintf(file, "%.9g %.9g\n", pattern->radial[i], pattern->intensity[i]);
    return ferror((FILE *)file) ? hcy_fail(HCY_EIO, "the patterns cannot be written") : 0; /* that ends the run */
}

/* In any thread, in any order: the buffer may be received into again. */
static void give_back(void *is_free, uint64_t number, int status)
{
    (void)number, (void)status, sem_post(is_free);
}

/* Frames come, until there are no more.  What stands here for your detector is a stack's chunks, as they are stored. */
static int receive_all(hcy_pipeline *pipeline, hcy_stack *detector, char *ring, size_t room)
{
    static sem_t is_free[BUFFERS];
    int status = 0;
    for (uint64_t i = 0; !status && i < hcy_stack_get_info(detector)->frames; i++) {
        size_t size, b = i % BUFFERS;
        if (i < BUFFERS ? sem_init(&is_free[b], 0, 0) : sem_wait(&is_free[b]))
            return hcy_fail(HCY_EIO, "waiting for buffer %zu was interrupted", b);
        status = hcy_stack_read(&size, ring + b * room, room, detector, i);
        if (!status)
            status = hcy_pipeline_submit(pipeline, ring + b * room, size, i, give_back, &is_free[b]);
    }
    int ended = hcy_pipeline_finish(pipeline); /* also after a failure: buffers come back, and devices end */
    return status ? status : ended;
}

int main(int argc, char **argv)
{
    hcy_device **devices = NULL;
    size_t n = 0, room = 0;
    hcy_stack *detector = NULL;
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *plan = NULL;
    hcy_pipeline *pipeline = NULL;
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    if (argc < 3)
        return fprintf(stderr, "usage: receiver STACK.h5 GEOMETRY.poni [DEVICES]\n"), 2;
    int failed = hcy_stack_open(&detector, argv[1], NULL) || hcy_poni_read(&poni, argv[2])
        || hcy_device_open_list(&devices, &n, argv[3]); /* NULL: the best there is */
    if (!failed) {
        const hcy_stack_info *info = hcy_stack_get_info(detector); /* of yours: size, type and coding of its frames */
        hcy_pipeline_source source = hcy_pipeline_source_of(info);
        room = (info->max_chunk + 63) / 64 * 64;
        push.memory_size = BUFFERS * room;
        push.memory = calloc(BUFFERS, room); /* the ring: devices that can copy from where chunks lie */
        push.sink = take_pattern;
        push.payload = stdout;
        failed = (!push.memory && hcy_fail(HCY_ENOMEM, "no memory for %d buffers of %zu bytes", BUFFERS, room))
            || hcy_azint_plan_create(&plan, &poni, info->height, info->width, &options)
            || hcy_pipeline_create(&pipeline, devices, n, plan, &source, NULL)
            || hcy_pipeline_start(pipeline, &push) || receive_all(pipeline, detector, push.memory, room);
    }
    if (failed)
        fprintf(stderr, "receiver: %s\n", hcy_last_error()->text);
    hcy_pipeline_destroy(pipeline); /* NULL is fine everywhere */
    hcy_azint_plan_release(plan);
    hcy_stack_close(detector);
    for (size_t i = 0; i < n; i++)
        hcy_device_release(devices[i]);
    hcy_list_free(devices);
    free(push.memory);
    return failed;
}
