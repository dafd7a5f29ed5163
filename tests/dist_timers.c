/* dist_timers.c - timers over ranks: nested labels, what they add up to, and that one which is off does nothing. */
#include "dist_scene.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
}

/* Two turns of an outer label with two inner ones; the last rank is late in one. */
static int time_turns(hcy_dist_timer *t)
{
    int status = 0;
    for (int turn = 0; turn < 2; turn++) {
        status = status ? status : hcy_dist_timer_begin(scene.queue, t, "step");
        status = status ? status : hcy_dist_timer_begin(scene.queue, t, "solve");
        wait_ms(scene.rank == scene.n_ranks - 1 ? 20 : 1);
        status = status ? status : hcy_dist_timer_end(scene.queue, t);
        status = status ? status : hcy_dist_timer_begin(NULL, t, "write");
        status = status ? status : hcy_dist_timer_end(NULL, t);
        status = status ? status : hcy_dist_timer_end(scene.queue, t);
    }
    return status;
}

void test_timers(void)
{
    hcy_dist_timer *t = NULL, *off = NULL;
    hcy_dist_mark marks[4] = { HCY_DIST_MARK_INIT, HCY_DIST_MARK_INIT, HCY_DIST_MARK_INIT, HCY_DIST_MARK_INIT };
    size_t n = 9;
    off = (hcy_dist_timer *)&n;
    every(hcy_dist_timer_create(&off, NULL, 1) == HCY_EINVAL && !off, "without a communicator there is none");
    every(!hcy_dist_timer_create(&t, scene.comm, 1) && !time_turns(t) && !hcy_dist_timer_read(marks, &n, 4, t) &&
              n == 3,
          "a timer with three labels");
    every(!strcmp(marks[0].label, "step") && !strcmp(marks[1].label, "solve") && !strcmp(marks[2].label, "write") &&
              marks[0].parent == -1 && marks[1].parent == 0 && marks[2].parent == 0 && marks[2].depth == 1 &&
              marks[0].times == 2 && marks[1].times == 2,
          "... each in the one it stands in, as often as it was met");
    /* All begin together, so that who is late shows; the others may be held up by the machine. */
    every(marks[1].most >= 0.04 && marks[1].least >= 0.002 && marks[1].least <= marks[1].most &&
              marks[0].most >= marks[1].most && marks[2].least >= 0,
          "... the fastest rank's time and the slowest's");
    every(hcy_dist_timer_end(NULL, t) == HCY_ESTATE, "what was not begun does not end");
    every(hcy_dist_timer_begin(NULL, t, "") == HCY_EINVAL, "a label has a name");
    const int begun = scene.rank ? 0 : hcy_dist_timer_begin(NULL, off, "alone");
    every(scene.rank ? !begun : begun == HCY_EINVAL, "no timer");
    unsetenv("HALCYON_DIST_TIMER");
    every(!hcy_dist_timer_create(&off, scene.comm, -1) && (scene.rank || !hcy_dist_timer_begin(NULL, off, "alone")) &&
              !hcy_dist_timer_end(NULL, off) && !hcy_dist_timer_read(NULL, &n, 0, off) && n == 0,
          "one that nobody has turned on waits for nobody, and has no labels");
    hcy_dist_timer_destroy(off);
    setenv("HALCYON_DIST_TIMER", "1", 1);
    every(!hcy_dist_timer_create(&off, scene.comm, -1) && !time_turns(off) && !hcy_dist_timer_read(NULL, &n, 0, off) &&
              n == 3,
          "the environment turns it on");
    hcy_dist_timer_destroy(off);
    /* Threads have one environment; that of processes is rank 0's. */
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    every(!hcy_dist_get_info(&info, scene.comm) && !hcy_dist_barrier(scene.comm), "what the ranks are");
    if (!scene.rank)
        unsetenv("HALCYON_DIST_TIMER");
    if (strcmp(info.transport, "threads")) {
        every(!hcy_dist_timer_create(&off, scene.comm, -1) && !time_turns(off) &&
                  !hcy_dist_timer_read(NULL, &n, 0, off) && n == 0,
              "that of other ranks does not");
        hcy_dist_timer_destroy(off);
    }
    unsetenv("HALCYON_DIST_TIMER");
    hcy_dist_timer_destroy(t);
}
