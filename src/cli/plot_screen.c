/* plot_screen.c - what the terminal behind stdout can show: it is asked, by two sequences that those who know them
 * answer.  Single-threaded; the terminal's settings are as they were when this returns. */
#include "plot.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { PATIENCE = 300 }; /* milliseconds: an answer may come through a network */

/* Both questions at once: is this picture of one pixel understood (kitty's protocol), and which attributes are there
 * (all terminals since the VT100 answer this, so it ends the waiting; 4 among them is sixel). */
static const char question[] = "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c";

/* Collects what the terminal says up to the end of its attributes. */
static void read_answer(char *answer, size_t size, int terminal)
{
    size_t n = 0;
    struct pollfd ready = { .fd = terminal, .events = POLLIN };
    while (n + 1 < size && poll(&ready, 1, PATIENCE) > 0) {
        ssize_t got = read(terminal, answer + n, size - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        answer[n] = 0;
        char *attributes = strstr(answer, "\033[?");
        if (attributes && strchr(attributes, 'c'))
            break;
    }
    answer[n] = 0;
}

/* What ends or stops the command waits meanwhile: it would leave a terminal that shows nothing of what is typed. */
static void hold_signals(sigset_t *before)
{
    static const int numbers[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP };
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaddset(&held, numbers[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

static void ask_terminal(char *answer, size_t size)
{
    struct termios before, quiet;
    sigset_t signals;
    int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    *answer = 0;
    /* A job in the background that touches the terminal would be stopped. */
    if (terminal >= 0 && tcgetpgrp(terminal) == getpgrp() && !tcgetattr(terminal, &before)) {
        quiet = before;
        quiet.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        quiet.c_cc[VMIN] = 0;
        quiet.c_cc[VTIME] = 0;
        hold_signals(&signals);
        if (!tcsetattr(terminal, TCSADRAIN, &quiet)) {
            /* What was typed meanwhile is for the shell, and could not be told from an answer. */
            const int is_typed = poll(&(struct pollfd){ .fd = terminal, .events = POLLIN }, 1, 0) > 0;
            if (!is_typed && write(terminal, question, sizeof question - 1) == (ssize_t)sizeof question - 1)
                read_answer(answer, size, terminal);
            /* An answer that comes too late is thrown away, or the shell would take it for typing. */
            tcsetattr(terminal, is_typed ? TCSADRAIN : TCSAFLUSH, &before);
        }
        pthread_sigmask(SIG_SETMASK, &signals, NULL);
    }
    if (terminal >= 0)
        close(terminal);
}

/* Is 4 one of the attributes "\033[?62;4;22c"? */
static int has_sixel(const char *answer)
{
    const char *at = strstr(answer, "\033[?");
    for (at = at ? at + 2 : NULL; at && (*at == '?' || *at == ';');) {
        char *end;
        if (strtoul(at + 1, &end, 10) == 4)
            return 1;
        at = end;
    }
    return 0;
}

enum plot_screen plot_find_screen(void)
{
    const char *name = getenv("TERM"), *colours = getenv("COLORTERM"), *none = getenv("NO_COLOR");
    char answer[256] = "";
    if (!isatty(STDOUT_FILENO) || !name || !strcmp(name, "dumb") || (none && *none))
        return SCREEN_TEXT;
    /* Linux' console and GNU screen print what they do not know. */
    if (strcmp(name, "linux") && strncmp(name, "screen", 6))
        ask_terminal(answer, sizeof answer);
    if (strstr(answer, "\033_Gi=31;OK"))
        return SCREEN_KITTY;
    if (has_sixel(answer))
        return SCREEN_SIXEL;
    return colours && (!strcmp(colours, "truecolor") || !strcmp(colours, "24bit")) ? SCREEN_BLOCKS : SCREEN_BLOCKS_256;
}
