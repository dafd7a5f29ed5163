/* guard.c - which files a stack is read from, so that nobody writes over them. */
#include "stack_priv.h"
#include <halcyon/backend.h>
#include <stdlib.h>
#include <sys/stat.h>

struct list {
    hcy_stack_file *files;
    size_t n, room;
    int failed;
};

static void add_file(struct list *l, const struct stat *is)
{
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 16;
        hcy_stack_file *more = realloc(l->files, room * sizeof *more);
        l->failed |= !more;
        if (!more)
            return;
        l->files = more;
        l->room = room;
    }
    l->files[l->n++] = (hcy_stack_file){ (uint64_t)is->st_dev, (uint64_t)is->st_ino };
}

static void add_path(void *list, const char *path)
{
    struct stat is;
    if (!stat(path, &is))
        add_file(list, &is);
}

int hcy_stack_files(hcy_stack_file **files, size_t *n, const hcy_stack *stack)
{
    struct list l = { 0 };
    struct stat is;
    if (!files || !n || !stack)
        return hcy_fail(HCY_EINVAL, "hcy_stack_files: no argument may be NULL");
    add_path(&l, stack->path);
    for (size_t i = 0; i < stack->n_also; i++)
        add_path(&l, stack->also[i]);
    for (size_t i = 0; i < stack->n_read_by_h5; i++)
        add_path(&l, stack->read_by_h5[i]);
    for (size_t i = 0; i < stack->n_parts; i++) {
        const hcy__part *part = &stack->parts[i];
        /* Files that are opened for each frame are known by name, open ones by their descriptor, which a
         * rename cannot mislead. */
        if (part->format)
            add_path(&l, part->name);
        else if (part->fd >= 0 && !fstat(part->fd, &is))
            add_file(&l, &is);
#ifdef HAVE_HDF5
        if (part->dataset >= 0)
            hcy__h5_read_files(part->dataset, part->from ? part->from : stack->path, add_path, &l);
#endif
    }
    *files = l.files;
    *n = l.n;
    /* A list that is not complete would let a file be written over: better no answer. */
    if (!l.failed)
        return 0;
    hcy_list_free(l.files);
    *files = NULL;
    *n = 0;
    return hcy_fail(HCY_ENOMEM, "no memory for the list of files of %s", stack->path);
}

int hcy__is_among(const hcy_stack_file *files, size_t n, const char *path)
{
    struct stat is;
    if (!n || stat(path, &is))
        return 0;
    /* By device and inode, so that links and other spellings of a path are found out. */
    for (size_t i = 0; i < n; i++)
        if (files[i].device == (uint64_t)is.st_dev && files[i].inode == (uint64_t)is.st_ino)
            return 1;
    return 0;
}

int hcy__may_write(const char *path, int keep_existing, const hcy_stack *source)
{
    struct stat is;
    hcy_stack_file *files = NULL;
    size_t n = 0;
    if (stat(path, &is))
        return 0; /* whether it can be created, creating it will tell */
    if (S_ISDIR(is.st_mode))
        return hcy_fail(HCY_EIO, "%s is a directory; name a file in it", path);
    int st = source ? hcy_stack_files(&files, &n, source) : 0;
    if (!st && hcy__is_among(files, n, path))
        st = hcy_fail(HCY_EINVAL, "%s is the stack that is read; name another file for the results", path);
    hcy_list_free(files);
    /* Devices and pipes exist always, and lose nothing. */
    if (!st && keep_existing && S_ISREG(is.st_mode))
        st = hcy_fail(HCY_ESTATE, "%s exists already, and is kept", path);
    return st;
}
