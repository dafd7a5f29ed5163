/* array_share.c - one array in two processes, without a copy: this one makes it, a second one doubles every other
 * number of it, and this one looks.
 *
 * usage: array_share [DEVICE]           cpu unless it is given; cuda:0 and so on (OpenCL has no such memory)
 *
 * The second process is this program again.  It gets the handle through a pipe, its standard input; that it has ended
 * says that its work is done.  It is started before a device is opened here, and it opens its own.
 */
#include <halcyon/eval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t n = 100000;

static int say(const char *who, int status)
{
    if (status)
        fprintf(stderr, "array_share: %s: %s\n", who, hcy_last_error()->text);
    return status != 0;
}

/* The second process: the array is a view of the buffer that it has imported. */
static int double_others(const char *name)
{
    hcy_buffer_handle handle;
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_buffer *buffer = NULL;
    hcy_array *x = NULL, *odd = NULL;
    if (fread(&handle, sizeof handle, 1, stdin) != 1)
        return 1;
    int status = hcy_device_open(&dev, name);
    if (!status)
        status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy_buffer_import(&buffer, dev, &handle);
    if (!status)
        status = hcy_array_of_buffer(&x, buffer, HCY_FLOAT32, 1, &n, NULL, 0);
    if (!status)
        status = hcy_array_slice(&odd, x, "1::2");
    if (!status)
        status = HCY_EVAL(queue, "x = 2*x", hcy_op_array("x", odd));
    /* The other process knows nothing of this queue. */
    if (!status)
        status = hcy_queue_finish(queue);
    hcy_array_release(odd);
    hcy_array_release(x);
    hcy_buffer_release(buffer);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return say("the second process", status);
}

/* Starts it; the pipe's end for the handle. */
static pid_t start_second(int *to, const char *program, const char *device)
{
    int ends[2];
    if (pipe(ends))
        return -1;
    pid_t pid = fork();
    if (!pid) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execlp(program, program, device, "second", (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    *to = ends[1];
    return pid;
}

/* Hands the buffer over and waits until the other process has done its work. */
static int have_doubled(hcy_buffer *buffer, int to, pid_t second)
{
    hcy_buffer_handle handle;
    int how = 0, status = hcy_buffer_export(&handle, buffer);
    int failed = say("export", status) || write(to, &handle, sizeof handle) != (ssize_t)sizeof handle;
    close(to);
    return waitpid(second, &how, 0) != second || how || failed;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "cpu";
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_buffer *buffer = NULL;
    hcy_array *x = NULL;
    size_t wrong = 0, bytes = (size_t)n * sizeof(float);
    int to = -1;
    if (argc > 2 && !strcmp(argv[2], "second"))
        return double_others(name);
    pid_t second = start_second(&to, argv[0], name);
    float *got = malloc(bytes);
    if (second < 0 || !got)
        return 1;
    int status = hcy_device_open(&dev, name);
    if (!status)
        status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy_buffer_create(&buffer, dev, HCY_MEM_SHARED, bytes);
    if (!status)
        status = hcy_array_of_buffer(&x, buffer, HCY_FLOAT32, 1, &n, NULL, 0);
    for (int64_t i = 0; i < n; i++)
        got[i] = (float)i;
    /* This waits: all of it is there before the other process is told. */
    if (!status)
        status = hcy_buffer_write_now(buffer, 0, got, bytes);
    int failed = say(name, status) || have_doubled(buffer, to, second);
    if (!failed)
        failed = say(name, hcy_array_to_host(got, queue, x));
    for (int64_t i = 0; !failed && i < n; i++)
        wrong += got[i] != (float)(i % 2 ? 2 * i : i);
    if (!failed)
        printf("%ld numbers in two processes, %zu wrong\n", (long)n, wrong);
    free(got);
    hcy_array_release(x);
    hcy_buffer_release(buffer);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return failed || wrong;
}
