/* compare_folder.c - the folder for files that live as long as a measurement, and who removes it.
 *
 * That is a process of its own, which does so when it no longer hears of this one nor of those that measure: whatever
 * ends them, the folder goes.  It is forked before any device is open. */
#include "compare.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int endings[] = { SIGINT, SIGTERM, SIGHUP };

/* Only what this command put there is in the folder. */
static void remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    char name[600];
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            unlink(name);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

static void wait_and_remove(const char *path, const int ends[2])
{
    char nothing;
    /* A terminal's signals are for all of its processes. */
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        signal(endings[i], SIG_IGN);
    close(ends[1]);
    /* Nobody writes: what comes is the end, when all have closed their end of the pipe. */
    while (read(ends[0], &nothing, 1) < 0 && errno == EINTR)
        ;
    remove_folder(path);
    _exit(0);
}

static int make_and_watch(struct compare_job *job, const char *folder)
{
    int ends[2];
    /* Its whole contents may be removed in the end. */
    if ((size_t)snprintf(job->folder, sizeof job->folder, "%s/halcyon-compare-XXXXXX", folder) >= sizeof job->folder ||
        !mkdtemp(job->folder))
        return cli_error("no folder for measurements can be made in %s (TMPDIR)", folder);
    if (pipe(ends)) {
        rmdir(job->folder);
        return cli_error("no pipe to a process of its own: errno %d", errno);
    }
    fflush(NULL);
    job->remover = fork();
    const int why = errno;
    if (!job->remover)
        wait_and_remove(job->folder, ends);
    close(ends[0]);
    job->folder_end = ends[1];
    /* Programs that are started, such as HDF5 files' readers, may live longer than the folder. */
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    if (job->remover > 0)
        return CLI_OK;
    close(ends[1]);
    rmdir(job->folder);
    return cli_error("no process of its own: errno %d", why);
}

int compare_make_folder(struct compare_job *job)
{
    const char *folder = getenv("TMPDIR");
    sigset_t signals, before;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        sigaddset(&signals, endings[i]);
    /* There is no moment in which the folder is there and nobody to remove it. */
    sigprocmask(SIG_BLOCK, &signals, &before);
    int status = make_and_watch(job, folder ? folder : "/tmp");
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

void compare_remove_folder(struct compare_job *job)
{
    if (job->remover <= 0)
        return;
    close(job->folder_end);
    while (waitpid(job->remover, NULL, 0) < 0 && errno == EINTR)
        ;
    job->remover = 0;
}
