/* curve_reader.c - reads what `halcyon integrate --publish` sends, see halcyon(1): curve_reader ADDRESS [FRAMES] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

int main(int argc, char **argv)
{
    static _Alignas(8) char message[1 << 24];
    if (argc < 2)
        return fprintf(stderr, "usage: curve_reader ADDRESS [FRAMES]\n"), 2;
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_SUB);
    int wait = 30000;
    zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "HCYCURV1", 8);
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &wait, sizeof wait);
    if (zmq_connect(socket, argv[1]))
        return fprintf(stderr, "curve_reader: %s: %s\n", argv[1], zmq_strerror(zmq_errno())), 1;
    for (int left = argc > 2 ? atoi(argv[2]) : -1; left; left--) {
        int size = zmq_recv(socket, message, sizeof message, 0);
        uint32_t head, flags, n[2];
        uint64_t series, frame;
        if (size < 64 || size > (int)sizeof message)
            return fprintf(stderr, "no message: %s\n", zmq_strerror(zmq_errno())), 1;
        memcpy(&head, message + 8, 4); /* on little-endian machines, as these numbers are */
        memcpy(&flags, message + 12, 4);
        memcpy(&series, message + 16, 8);
        memcpy(&frame, message + 24, 8);
        memcpy(n, message + 32, 8);
        size_t most = 0, bins = flags & 2 ? 0 : n[1] ? (size_t)n[0] * n[1] : n[0];
        /* Whoever sent it: all of it is in the message before it is looked at. */
        if (head < 64 || head % 8 || head > (uint32_t)size || bins > sizeof message ||
            bins + n[0] + n[1] > (size - head) / sizeof(double))
            return fprintf(stderr, "a message of %d bytes does not hold what it says\n", size), 1;
        const double *radius = (double *)(message + head), *intensity = radius + n[0] + n[1];
        for (size_t i = 1; i < bins; i++)
            most = intensity[i] > intensity[most] ? i : most;
        /* Two units' names, a 0 behind each; a curve has one. */
        const char *unit = message + 40, *end = message + head, *zero = memchr(unit, 0, head - 40);
        const char *azimuth_unit = n[1] && zero ? zero + 1 : end;
        printf("%llu %llu %14.6e %14.6e %.*s%s%.*s\n", (unsigned long long)series, (unsigned long long)frame,
               bins ? radius[most % n[0]] : 0, bins ? intensity[most] : 0, (int)(end - unit), unit,
               azimuth_unit < end ? " " : "", (int)(end - azimuth_unit), azimuth_unit);
        fflush(stdout);
    }
    return 0;
}
