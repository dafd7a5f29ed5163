/* host_memory.c - one memory for the host, the device and others, without a copy: in place of CUDA's managed memory a
 * buffer that kernels and the host reach, memory of one's own that is lent, and an array whose facts somebody else's
 * library reads (NumPy's, CuPy's), as __cuda_array_interface__ and DLPack have them.
 *
 * usage: host_memory [DEVICE]        cpu unless it is given; cuda:0, opencl:0 and so on
 *
 * What a device has none of is said, and no failure.
 */
#define _POSIX_C_SOURCE 200809L
#include <halcyon/eval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096, PAGE = 4096 };

/* All devices that there are; "auto" and "all" choose among these. */
static int print_devices(void)
{
    hcy_device_info *list = NULL;
    size_t n = 0;
    int status = hcy_device_list(&list, &n);
    for (size_t i = 0; !status && i < n; i++)
        printf("%s: %s\n", list[i].name, list[i].description);
    hcy_list_free(list);
    return status;
}

static void write_numbers(float *x)
{
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
}

static int count_wrong(const float *x, float factor, float more)
{
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += x[i] != factor * (float)i + more;
    return wrong;
}

/* The host writes, the device computes, the host reads: the queue alone orders them. */
static int compute(hcy_queue *queue, hcy_buffer *buffer, const char *text)
{
    const int64_t n = N;
    hcy_array *x = NULL;
    int status = hcy_array_of_buffer(&x, buffer, HCY_FLOAT32, 1, &n, NULL, 0);
    if (!status)
        status = HCY_EVAL(queue, text, hcy_op_array("x", x));
    hcy_array_release(x);
    return status ? status : hcy_queue_finish(queue);
}

static int use_mapped(int *wrong, hcy_device *dev, hcy_queue *queue)
{
    hcy_buffer *buffer = NULL;
    if (!(hcy_device_get_info(dev)->caps & HCY_CAP_MAPPED)) {
        printf("kernels do not reach the host's memory here\n");
        return 0;
    }
    int status = hcy_buffer_create(&buffer, dev, HCY_MEM_MAPPED, N * sizeof(float));
    float *x = status ? NULL : hcy_buffer_host(buffer);
    if (x)
        write_numbers(x);
    if (!status)
        status = compute(queue, buffer, "x = 2*x");
    if (!status)
        *wrong += count_wrong(x, 2, 0);
    hcy_buffer_release(buffer);
    return status;
}

static void count_return(void *returned)
{
    ++*(int *)returned;
}

/* Memory that the program had before: a camera's ring, a mapped file. */
static int use_lent(int *wrong, hcy_device *dev, hcy_queue *queue)
{
    void *memory = NULL;
    hcy_buffer *buffer = NULL;
    int returned = 0;
    if (!(hcy_device_get_info(dev)->caps & HCY_CAP_IMPORT_HOST)) {
        printf("no memory is lent to this device\n");
        return 0;
    }
    if (posix_memalign(&memory, PAGE, N * sizeof(float)))
        return hcy_fail(HCY_ENOMEM, "no memory to lend");
    write_numbers(memory);
    int status = hcy_buffer_import_host(&buffer, dev, memory, N * sizeof(float), count_return, &returned);
    if (!status)
        status = compute(queue, buffer, "x = x + 1");
    hcy_buffer_release(buffer);
    /* Nothing uses it any more, so that it has come back. */
    if (!status)
        *wrong += count_wrong(memory, 1, 1) + (returned != 1);
    free(memory);
    return status;
}

/* What another library would do with the facts is done here by a second array of ours: one memory, two arrays. */
static int use_facts(int *wrong, hcy_device *dev, hcy_queue *queue)
{
    static float got[N];
    const int64_t n = N;
    hcy_array_interface facts = HCY_ARRAY_INTERFACE_INIT;
    hcy_array *ours = NULL, *theirs = NULL;
    int returned = 0, status = hcy_array_empty(&ours, dev, HCY_FLOAT32, 1, &n);
    if (!status)
        status = HCY_EVAL(queue, "x = index", hcy_op_array("x", ours));
    if (status)
        goto out;
    status = hcy_array_to_interface(&facts, queue, ours);
    if (status == HCY_EUNSUPPORTED) {
        printf("memory here has no address that others know\n");
        status = 0;
        goto out;
    }
    if (!status)
        status = hcy_array_from_interface(&theirs, queue, &facts, count_return, &returned);
    if (!status)
        status = HCY_EVAL(queue, "x = 3*x", hcy_op_array("x", theirs));
    if (!status)
        status = hcy_array_to_host(got, queue, ours);
    if (!status)
        *wrong += count_wrong(got, 3, 0) + (strcmp(facts.typestr, "<f4") != 0);
out:
    hcy_array_release(theirs);
    hcy_array_release(ours);
    return status;
}

int main(int argc, char **argv)
{
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    int wrong = 0, status = print_devices();
    if (!status)
        status = hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu");
    if (!status)
        status = hcy_queue_create(&queue, dev);
    if (!status)
        status = use_mapped(&wrong, dev, queue);
    if (!status)
        status = use_lent(&wrong, dev, queue);
    if (!status)
        status = use_facts(&wrong, dev, queue);
    if (status)
        fprintf(stderr, "host_memory: %s\n", hcy_last_error()->text);
    else
        printf("%d numbers are wrong\n", wrong);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status || wrong;
}
