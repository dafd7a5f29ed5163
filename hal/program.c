/* program.c - the user's programs: kernels of theirs, and memory that they name.  Thread-safe. */
#include "hal_priv.h"

#include <stdlib.h>
#include <string.h>

static void destroy_program(void *object)
{
    hcy_program *program = object;
    if (hcy__forked())
        return;
    program->dev->backend->ops->program_release(program->impl);
    hcy_device_release(program->dev);
    free(program->log);
    free(program);
}

int hcy_program_create(hcy_program **out, hcy_device *dev, const char *format, const void *data, size_t size,
                       const char *options)
{
    int status = hcy__device_check(dev);
    if (status)
        return status;
    if (!out || !format)
        return hcy_fail(HCY_EINVAL, "hcy_program_create: no %s", out ? "format" : "place for the program");
    if (!data || !size)
        return hcy_fail(HCY_EINVAL, "hcy_program_create: no code");
    if (!HCY_HAS_OP(dev->backend->ops, program_create))
        return hcy__unsupported(dev, "programs of the user's");
    hcy_program *program = calloc(1, sizeof *program);
    if (!program)
        return hcy_fail(HCY_ENOMEM, "out of memory for a program's record");
    status = dev->backend->ops->program_create(&program->impl, &program->log, dev->impl, format, data, size,
                                               options ? options : "");
    if (status) {
        free(program->log);
        free(program);
        return status;
    }
    hcy__object_init(program, destroy_program);
    program->dev = hcy_device_retain(dev);
    *out = program;
    return 0;
}

hcy_program *hcy_program_retain(hcy_program *program)
{
    return hcy__retain(program);
}

void hcy_program_release(hcy_program *program)
{
    hcy__release(program);
}

const char *hcy_program_log(const hcy_program *program)
{
    return program && program->log ? program->log : "";
}

/* A text behind what lies at *at already; NULL stays. */
static const char *put_text(char **at, const char *text)
{
    const size_t size = text ? strlen(text) + 1 : 0;
    char *copy = *at;
    *at += size;
    return text ? memcpy(copy, text, size) : NULL;
}

/* In one piece, so that the caller's may go; NULL: no memory. */
static hcy_signature *copy_signature(const hcy_signature *from)
{
    size_t size = sizeof *from + from->n_args * sizeof *from->args + (from->name ? strlen(from->name) + 1 : 0);
    for (size_t i = 0; i < from->n_args; i++)
        size += from->args[i].name ? strlen(from->args[i].name) + 1 : 0;
    hcy_signature *copy = malloc(size);
    if (!copy)
        return NULL;
    hcy_arg_decl *args = (hcy_arg_decl *)(copy + 1);
    char *text = (char *)(args + from->n_args);
    *copy = (hcy_signature){ put_text(&text, from->name), args, from->n_args };
    for (size_t i = 0; i < from->n_args; i++)
        args[i] = (hcy_arg_decl){ put_text(&text, from->args[i].name), from->args[i].type, from->args[i].size };
    return copy;
}

int hcy_program_kernel(hcy_kernel **out, hcy_program *program, const char *name,
                       const hcy_signature *signature)
{
    if (!out || !program)
        return hcy_fail(HCY_EINVAL, "hcy_program_kernel: no %s", out ? "program" : "place for the kernel");
    if (!name)
        return hcy_fail(HCY_EINVAL, "hcy_program_kernel: no name");
    int status = hcy__device_check(program->dev);
    if (status)
        return status;
    hcy_signature *own = signature ? copy_signature(signature) : NULL;
    if (signature && !own)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel's signature");
    hcy_kernel *kernel = hcy__kernel_new(program->dev, own);
    status = kernel ? program->dev->backend->ops->program_kernel(&kernel->impl, program->impl, name, own) : HCY_ENOMEM;
    if (status) {
        free(kernel);
        free(own);
        return status;
    }
    kernel->own_signature = own;
    hcy_device_retain(program->dev);
    kernel->program = hcy_program_retain(program);
    kernel->variant = "user";
    *out = kernel;
    return 0;
}

static void drop_program(void *program)
{
    hcy_program_release(program);
}

int hcy_program_global(hcy_buffer **out, hcy_program *program, const char *name)
{
    if (!out || !program)
        return hcy_fail(HCY_EINVAL, "hcy_program_global: no %s", out ? "program" : "place for the buffer");
    if (!name)
        return hcy_fail(HCY_EINVAL, "hcy_program_global: no name");
    int status = hcy__device_check(program->dev);
    if (status)
        return status;
    if (!HCY_HAS_OP(program->dev->backend->ops, program_global))
        return hcy__unsupported(program->dev, "a program's variables by their names");
    hcy_block block = { 0 };
    status = program->dev->backend->ops->program_global(&block, program->impl, name);
    if (status)
        return status;
    hcy_buffer *buf = hcy__buffer_new(program->dev, HCY__IMPORTED, HCY_MEM_DEVICE, block.size);
    if (!buf) {
        if (HCY_HAS_OP(program->dev->backend->ops, unimport))
            program->dev->backend->ops->unimport(program->dev->impl, &block);
        return HCY_ENOMEM;
    }
    /* The memory goes with the program, which the buffer therefore keeps. */
    buf->block = block;
    buf->done = drop_program;
    buf->payload = hcy_program_retain(program);
    *out = buf;
    return 0;
}
