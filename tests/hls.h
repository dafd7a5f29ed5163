/* hls.h - FPGA kernels in C simulation beside the CPU's: what the hls_* tests share.
 *
 * A kernel's buffers lie in one arena that is the board's memory; its arguments are the values of the registers, as
 * args.h lays them out.  Buffers end at the last byte they have, with marks behind.
 */
#ifndef TEST_HLS_H
#define TEST_HLS_H

#include <halcyon/bslz4.h>
#include <halcyon/kernel.h>
#include <halcyon/queue.h>

#include "args.h"
#include "tap.h"

#include <vector>

enum { HLS_MARK = 0xA5, HLS_GUARD = 64 };

typedef std::vector<uint8_t> bytes;

static uint64_t hls_state = 20261121;
static inline uint64_t hls_random()
{
    uint64_t x = hls_state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
static inline uint32_t hls_below(uint32_t n)
{
    return (uint32_t)((hls_random() >> 32) * n >> 32);
}

/* One argument: bytes in and out, or a scalar. */
struct hls_value {
    bytes *data;
    bool is_struct;
};

/* Runs a kernel on copies of the values in a board's memory, copies back; false if something outside was written. */
static inline bool hls_call(hcy_hls_run run, uint64_t items, const std::vector<hls_value> &values)
{
    std::vector<uint64_t> args(1, items);
    std::vector<size_t> at;
    size_t size = 64;
    for (const hls_value &v : values) {
        at.push_back(size);
        args.push_back(size);
        if (!v.is_struct)
            args.push_back(v.data->size());
        size += (v.data->size() + HLS_GUARD + 63) / 64 * 64;
    }
    uint8_t *memory = static_cast<uint8_t *>(aligned_alloc(64, size));
    memset(memory, HLS_MARK, size);
    for (size_t i = 0; i < values.size(); i++)
        if (values[i].data->size())
            memcpy(memory + at[i], values[i].data->data(), values[i].data->size());
    run(memory, args.data());
    bool clean = true;
    for (size_t i = 0; i < values.size(); i++) {
        size_t n = values[i].data->size(), end = i + 1 < values.size() ? at[i + 1] : size;
        if (n)
            memcpy(values[i].data->data(), memory + at[i], n);
        for (size_t k = at[i] + n; k < end; k++)
            clean = clean && memory[k] == HLS_MARK;
    }
    free(memory);
    return clean;
}

/* The same launch on the CPU.  Tables: what hcy_kernel_prepare() gave, or NULL. */
struct cpu_kernel_run {
    hcy_device *device = nullptr;
    hcy_queue *queue = nullptr;
    hcy_kernel *kernel = nullptr;
    hcy_buffer *tables = nullptr;

    explicit cpu_kernel_run(const char *name)
    {
        if (hcy_device_open(&device, "cpu@threads=1") || hcy_queue_create(&queue, device) ||
            hcy_kernel_get(&kernel, device, name))
            bail_out("the CPU: %s", hcy_last_error()->text);
    }
    ~cpu_kernel_run()
    {
        hcy_buffer_release(tables);
        hcy_kernel_release(kernel);
        hcy_queue_release(queue);
        hcy_device_release(device);
    }
    hcy_arg in(const void *data, size_t size) const
    {
        hcy_arg arg = room(size);
        if (size && hcy_buffer_write_now(arg.v.buf, 0, data, size))
            bail_out("a buffer: %s", hcy_last_error()->text);
        return arg;
    }
    void launch(size_t items, std::vector<hcy_arg> args) const
    {
        size_t scratch = 0;
        args.push_back(hcy_arg_buf(nullptr));
        if (hcy_kernel_scratch_size(&scratch, kernel, items, args.data(), args.size()))
            bail_out("scratch: %s", hcy_last_error()->text);
        if (scratch)
            args.back() = room(scratch);
        if (hcy_launch(queue, kernel, items, args.data(), args.size()) || hcy_queue_finish(queue))
            bail_out("launch: %s", hcy_last_error()->text);
        hcy_buffer_release(args.back().v.buf);
    }
    hcy_arg room(size_t size) const
    {
        hcy_buffer *b = nullptr;
        if (hcy_buffer_create(&b, device, HCY_MEM_DEVICE, size ? size : 64))
            bail_out("a buffer: %s", hcy_last_error()->text);
        return hcy_arg_buf(b);
    }
    void out(bytes &to, const hcy_arg &from) const
    {
        if (!to.empty() && hcy_buffer_read_now(to.data(), from.v.buf, 0, to.size()))
            bail_out("a read: %s", hcy_last_error()->text);
    }
};

/* A batch of coded frames. */
struct hls_batch {
    hcy_bslz4_job job;
    bytes chunks;
    std::vector<hcy_bslz4_frame> frames;
    std::vector<hcy_bslz4_block> blocks;

    explicit hls_batch(uint32_t codec, uint32_t elem_size, uint64_t image_bytes, uint32_t block_bytes = 0)
    {
        job.codec = codec;
        job.elem_size = elem_size;
        job.image_bytes = image_bytes;
        job.block_bytes = block_bytes;
        job.reserved = 0;
    }
    void add_chunk(const void *chunk, size_t size)
    {
        hcy_bslz4_frame f;
        size_t at = (chunks.size() + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN, used = blocks.size();
        size_t n = job.image_bytes / (8 * job.elem_size) + 16;
        chunks.resize(at);
        chunks.insert(chunks.end(), static_cast<const uint8_t *>(chunk), static_cast<const uint8_t *>(chunk) + size);
        blocks.resize(used + n);
        if (hcy_bslz4_parse(&f, blocks.data() + used, n, nullptr, &job, chunk, size))
            f.n_blocks = 0;
        f.offset = at;
        f.first_block = static_cast<uint32_t>(used);
        blocks.resize(used + f.n_blocks);
        frames.push_back(f);
    }
    void add_image(const void *image)
    {
        size_t bound = 0, size = 0;
        if (hcy_bslz4_encode_bound(&bound, &job))
            bail_out("bound: %s", hcy_last_error()->text);
        bytes chunk(bound);
        if (hcy_bslz4_encode(&size, chunk.data(), bound, &job, image))
            bail_out("encode: %s", hcy_last_error()->text);
        add_chunk(chunk.data(), size);
    }
    /* A frame of one block, whose coded bytes are these. */
    void add_block(const bytes &coded)
    {
        hcy_bslz4_frame f;
        memset(&f, 0, sizeof f);
        chunks.resize((chunks.size() + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN);
        f.offset = chunks.size();
        f.size = coded.size() + 3;
        f.first_block = static_cast<uint32_t>(blocks.size());
        f.n_blocks = 1;
        f.block_bytes = f.last_bytes = static_cast<uint32_t>(job.image_bytes);
        f.tail_offset = 3;
        chunks.resize(chunks.size() + 3);
        chunks.insert(chunks.end(), coded.begin(), coded.end());
        hcy_bslz4_block b = { 3, static_cast<uint32_t>(coded.size()) };
        blocks.push_back(b);
        frames.push_back(f);
    }
    void end() { chunks.resize(chunks.size() + HCY_BSLZ4_PADDING, HLS_MARK); }
};

template <class T> static inline bytes bytes_of(const std::vector<T> &v)
{
    const uint8_t *p = reinterpret_cast<const uint8_t *>(v.data());
    return bytes(p, p + v.size() * sizeof(T));
}
template <class T> static inline bytes bytes_of_one(const T &v)
{
    const uint8_t *p = reinterpret_cast<const uint8_t *>(&v);
    return bytes(p, p + sizeof(T));
}

extern "C" void bslz4_decode_run(unsigned char *memory, const uint64_t *args);

/* The kernel bslz4_decode on a batch, as hls_call(); images and reports have the room that it gets. */
static inline bool hls_decode(const hls_batch &b, bytes &images, bytes &reports)
{
    bytes chunks = b.chunks, frames = bytes_of(b.frames), blocks = bytes_of(b.blocks), job = bytes_of_one(b.job), none;
    return hls_call(bslz4_decode_run, b.frames.size(),
                    { { &chunks, false },
                      { &frames, false },
                      { &blocks, false },
                      { &job, true },
                      { &images, false },
                      { &reports, false },
                      { &none, false } });
}

#endif
