/* gnuplot.c - see gnuplot.h.  The script is a file without a name, so there is no pipe to fill or to break.
 */
#include "gnuplot.h"
#include "cli.h"
#include <halcyon/backend.h>
#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void gnuplot_text(FILE *script, const char *text)
{
    putc('\'', script);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t n = cli_utf8_length(c);
        if (!n || *c < 0x20 || *c == 0x7f)
            putc('?', script);
        else if (*c == '\'')
            fputs("''", script);
        else
            fwrite(c, 1, n, script);
        c += n ? n : 1;
    }
    putc('\'', script);
}

/* The first line in which gnuplot says what is wrong. */
static int report_gnuplot_error(FILE *errors)
{
    char line[256];
    bool is_echo = false, goes_on = false;
    rewind(errors);
    while (fgets(line, sizeof line, errors)) {
        size_t n = strcspn(line, "\r\n");
        /* gnuplot repeats the line, however long, and marks the place with ^ before it says what is wrong. */
        is_echo = goes_on ? is_echo : !strncmp(line, "gnuplot>", 8);
        goes_on = !line[n];
        line[n] = 0;
        if (!is_echo && strspn(line, " \t^") < n && !strstr(line, "arning:"))
            return cli_error("gnuplot could not draw this: %s", line + strspn(line, " \t"));
    }
    return cli_error("gnuplot could not draw this");
}

static int not_started(int number)
{
    char words[128] = "";
    if (number == ENOENT)
        return cli_error(
            "plots are drawn by gnuplot, which is not installed (Debian: gnuplot-nox), or not in PATH");
    if (strerror_r(number, words, sizeof words))
        words[0] = 0;
    return cli_error("gnuplot cannot be started: %s", words);
}

/* The child's three descriptors; returns what posix_spawnp does. */
static int start_gnuplot(pid_t *child, FILE *script, int out, FILE *errors)
{
    char *argv[] = { "gnuplot", "-d", "-", NULL }; /* -d: nobody's own settings */
    posix_spawn_file_actions_t actions;
    /* posix_spawn needs no copy of this process, which may have much memory and threads of devices. */
    int number = posix_spawn_file_actions_init(&actions);
    if (number)
        return number;
    number = posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    if (!number)
        number = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!number)
        number = posix_spawn_file_actions_adddup2(&actions, fileno(errors), STDERR_FILENO);
    if (!number)
        number = posix_spawnp(child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return number;
}

/* gnuplot does not look whether what it writes arrives.  What a full disk has cut ends with the last block that there
 * was, and one byte more has no room; what is whole has some in its last block. */
static int check_whole(int out)
{
    struct stat is;
    if (fstat(out, &is) || !S_ISREG(is.st_mode))
        return CLI_OK;
    if (pwrite(out, "", 1, is.st_size) != 1)
        return cli_write_failed("gnuplot's picture, a temporary file,", errno);
    return ftruncate(out, is.st_size) ? cli_write_failed("gnuplot's picture, a temporary file,", errno) : CLI_OK;
}

int gnuplot_run(FILE *script, int out)
{
    pid_t child;
    int how = 0, number;
    FILE *errors = tmpfile();
    /* The script is a file, not a pipe: gnuplot may end early, and writing to its pipe would then end this process. */
    if (!errors || fflush(script) || ferror(script) || fseek(script, 0, SEEK_SET) ||
        lseek(fileno(script), 0, SEEK_SET)) {
        if (errors)
            fclose(errors);
        return cli_error("the script for gnuplot cannot be written to a temporary file");
    }
    number = start_gnuplot(&child, script, out, errors);
    /* A signal that is handled interrupts the wait, which then goes on. */
    while (!number && waitpid(child, &how, 0) < 0)
        number = errno == EINTR ? 0 : errno;
    int status = CLI_OK;
    if (number || (WIFEXITED(how) && WEXITSTATUS(how) == 127)) /* 127: a libc whose child finds that out */
        status = not_started(number ? number : ENOENT);
    else if (!WIFEXITED(how) || WEXITSTATUS(how))
        status = report_gnuplot_error(errors);
    else
        status = check_whole(out);
    fclose(errors);
    return status;
}

int gnuplot_save(FILE *picture, const char *path)
{
    char buffer[65536];
    size_t n;
    uint64_t at = 0;
    hcy_output *output;
    /* The picture is drawn to a temporary file first: gnuplot may fail, and an earlier picture then stays. */
    int status = hcy_output_open(&output, path, 0);
    rewind(picture);
    for (; !status && (n = fread(buffer, 1, sizeof buffer, picture)) > 0; at += n)
        status = hcy_output_write(output, buffer, n, at);
    if (!status && ferror(picture))
        status = hcy_fail(HCY_EIO, "%s: the picture that was drawn cannot be read", path);
    if (output)
        status = hcy_output_commit(output, status);
    return status ? cli_fail(status) : CLI_OK;
}

int gnuplot_print(FILE *picture)
{
    char buffer[65536];
    size_t n;
    rewind(picture);
    while ((n = fread(buffer, 1, sizeof buffer, picture)) > 0 && fwrite(buffer, 1, n, stdout) == n)
        ;
    if (ferror(picture))
        return cli_error("the plot that was drawn cannot be read");
    return cli_close_stdout(CLI_OK);
}
