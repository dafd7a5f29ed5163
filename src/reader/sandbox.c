/* sandbox.c - limits of the process, and Linux's filter of system calls. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "sandbox.h"
#include "isolate.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(HCY_SANITIZED)
#define HAVE_FILTER 1
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* --- Limits --- */

/* What the host had open and did not mark. */
static void close_others(void)
{
    struct rlimit most;
    long n = getrlimit(RLIMIT_NOFILE, &most) || most.rlim_cur > 65536 ? 65536 : (long)most.rlim_cur;
#if defined(__linux__) && defined(SYS_close_range)
    if (!syscall(SYS_close_range, HCY__READER_SOCKET + 1, ~0u, 0))
        return;
#endif
    for (int fd = HCY__READER_SOCKET + 1; fd < n; fd++)
        close(fd);
}

static int set_limit(int what, rlim_t soft)
{
    struct rlimit limit;
    if (getrlimit(what, &limit))
        return -1;
    /* A lower one that the host was given stays. */
    if (limit.rlim_max == RLIM_INFINITY || soft < limit.rlim_max)
        limit.rlim_max = soft;
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    return setrlimit(what, &limit);
}

void limit_time(unsigned seconds)
{
    struct rusage used;
    struct rlimit limit;
    if (getrusage(RUSAGE_SELF, &used) || getrlimit(RLIMIT_CPU, &limit))
        return;
    /* The soft limit alone: the next question moves it. */
    rlim_t to = (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + 2 + seconds;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || to < limit.rlim_max ? to : limit.rlim_max;
    (void)setrlimit(RLIMIT_CPU, &limit);
}

/* --- Calls --- */

#ifdef HAVE_FILTER
#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Reading files, memory, time, the end; threads, which HDF5's plugins may start.  Of newer calls, and those that only
 * some architectures have, the ones that this system's headers know. */
static const int allowed[] = {
    SYS_read, SYS_pread64, SYS_readv, SYS_preadv, SYS_lseek, SYS_close, SYS_fstat, SYS_getdents64, SYS_getcwd,
    SYS_readlinkat, SYS_faccessat, SYS_flock, SYS_fadvise64, SYS_statfs, SYS_fstatfs, SYS_dup,
    SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk,
    SYS_sendto, SYS_recvfrom, SYS_ppoll,
    SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_nanosleep, SYS_clock_nanosleep, SYS_getrusage, SYS_times,
    SYS_getrlimit, SYS_setrlimit, SYS_getrandom, SYS_uname, SYS_sysinfo,
    SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
    SYS_futex, SYS_set_robust_list, SYS_sched_yield, SYS_sched_getaffinity, SYS_set_tid_address, SYS_exit,
    SYS_exit_group,
#ifdef SYS_newfstatat
    SYS_newfstatat,
#endif
#ifdef SYS_statx
    SYS_statx,
#endif
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_stat
    SYS_stat, SYS_lstat,
#endif
#ifdef SYS_readlink
    SYS_readlink,
#endif
#ifdef SYS_access
    SYS_access,
#endif
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_time
    SYS_time,
#endif
#ifdef SYS_arch_prctl
    SYS_arch_prctl,
#endif
};
enum { N_ALLOWED = sizeof allowed / sizeof allowed[0] };

static void add_step(struct sock_fprog *program, struct sock_filter step)
{
    program->filter[program->len++] = step;
}

/* Loads the lower half of an argument, on little-endian machines. */
static void load_argument(struct sock_fprog *program, unsigned i)
{
    add_step(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                   (unsigned)offsetof(struct seccomp_data, args) + 8 * i));
}

static void add_return(struct sock_fprog *program, unsigned what)
{
    add_step(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* Allows a call whose argument has any (or none) of these bits. */
static void add_masked(struct sock_fprog *program, unsigned call, unsigned argument, unsigned bits, int any)
{
    add_step(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
    load_argument(program, argument);
    add_step(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, any ? 0 : 1, any ? 1 : 0));
    add_return(program, SECCOMP_RET_ALLOW);
    add_return(program, SECCOMP_RET_ERRNO | EPERM);
}

/* Allows a call whose argument is this: of those that could reach other processes. */
static void add_equal(struct sock_fprog *program, unsigned call, unsigned argument, unsigned value)
{
    add_step(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
    load_argument(program, argument);
    add_step(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    add_return(program, SECCOMP_RET_ALLOW);
    add_return(program, SECCOMP_RET_ERRNO | EPERM);
}

/* Calls that are not allowed fail as if the kernel had none such, which libraries know how to live with. */
static void filter_calls(void)
{
    enum { MOST_STEPS = 2 * N_ALLOWED + 40 };
    const unsigned writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
    struct sock_filter steps[MOST_STEPS];
    struct sock_fprog program = { .filter = steps };
    add_step(&program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    add_step(&program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    add_return(&program, SECCOMP_RET_ERRNO | ENOSYS);
    add_step(&program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (size_t i = 0; i < N_ALLOWED; i++) {
        add_step(&program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1));
        add_return(&program, SECCOMP_RET_ALLOW);
    }
    /* Files are opened for reading alone, and what is started is a thread of this process. */
    add_masked(&program, SYS_openat, 2, writing, 0);
#ifdef SYS_open
    add_masked(&program, SYS_open, 1, writing, 0);
#endif
    add_masked(&program, SYS_clone, 0, CLONE_THREAD, 1);
    /* F_DUPFD to F_SETLKW: those behind them can have signals sent. */
    add_masked(&program, SYS_fcntl, 1, ~0x7u, 0);
    add_equal(&program, SYS_tgkill, 0, (unsigned)getpid());
    add_equal(&program, SYS_prlimit64, 0, 0);
    add_return(&program, SECCOMP_RET_ERRNO | ENOSYS);
    /* A kernel without filters leaves the limits. */
    if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#endif

int enter_sandbox(uint64_t memory)
{
    close_others();
    int failed = set_limit(RLIMIT_CORE, 0) || set_limit(RLIMIT_FSIZE, 0);
#if defined(RLIMIT_AS) && !defined(HCY_SANITIZED)
    failed = failed || set_limit(RLIMIT_AS, (rlim_t)memory); /* sanitizers reserve terabytes */
#else
    (void)memory;
#endif
#ifdef HAVE_FILTER
    filter_calls();
#endif
    return failed ? -1 : 0;
}
