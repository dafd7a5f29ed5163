/* hls_stream.h - hls::stream and DATAFLOW for a compiler of the host: C simulation that shows deadlocks.
 *
 * v++ has a header of this name; this one is on the include path of g++ and clang++ alone.  A FIFO holds what it was
 * declared to hold, 2 elements where nothing was said, as in hardware.  The stages of a DATAFLOW function run in a
 * thread each (struct hls_sim::region, through the macros of hls_common.h).  When all stages that are not done wait
 * for one another, nothing will ever move: region::join() then ends them, and hls_sim::deadlock tells which FIFOs
 * were full or empty.  Reading and writing are for one thread each.
 */
#ifndef HLS_STREAM_SIM_H
#define HLS_STREAM_SIM_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hls_sim {

struct stop {}; /* thrown to end a stage that waits for ever */

/* Called with the words for a deadlock; without one they are printed and the process ends. */
using handler = void (*)(const char *words);
inline handler &on_deadlock()
{
    static handler h = nullptr;
    return h;
}

/* Elements that went through a FIFO, by its name, where somebody counts them. */
struct counts {
    std::mutex lock;
    std::list<std::pair<std::string, uint64_t>> of;
    void add(const std::string &name, uint64_t n)
    {
        std::lock_guard<std::mutex> guard(lock);
        for (auto &c : of)
            if (c.first == name) {
                c.second += n;
                return;
            }
        of.emplace_back(name, n);
    }
    uint64_t get(const std::string &name)
    {
        std::lock_guard<std::mutex> guard(lock);
        for (auto &c : of)
            if (c.first == name)
                return c.second;
        return 0;
    }
};
inline std::atomic<counts *> &counting()
{
    static std::atomic<counts *> c{ nullptr };
    return c;
}

class region;
inline region *&current()
{
    static thread_local region *r = nullptr;
    return r;
}

/* One call of a DATAFLOW function. */
class region {
public:
    std::mutex lock;
    bool failed = false;
    region() = default;
    region(const region &) = delete;
    region &operator=(const region &) = delete;

    void start(std::function<void()> stage) { stages.push_back(std::move(stage)); }

    /* Runs the stages to their end. */
    void join()
    {
        std::vector<std::thread> threads;
        live = stages.size();
        for (auto &stage : stages)
            threads.emplace_back([this, &stage] { run(stage); });
        for (auto &t : threads)
            t.join();
        if (!failed)
            return;
        if (on_deadlock()) {
            on_deadlock()(words.c_str());
        } else {
            std::fprintf(stderr, "%s\n", words.c_str());
            std::abort();
        }
    }

    /* With the lock held: the calling stage waits for a FIFO; is anybody left to do something about it? */
    void block(const std::string &why, std::condition_variable *cv)
    {
        waiting.push_back({ why, cv });
        check();
    }
    void unblock(std::condition_variable *cv)
    {
        waiting.remove_if([cv](const wait &w) { return w.cv == cv; });
    }

private:
    struct wait {
        std::string why;
        std::condition_variable *cv;
    };
    std::vector<std::function<void()>> stages;
    std::list<wait> waiting;
    size_t live = 0;
    std::string words;

    void run(const std::function<void()> &stage)
    {
        current() = this;
        try {
            stage();
        } catch (const stop &) {
        }
        current() = nullptr;
        std::lock_guard<std::mutex> guard(lock);
        live--;
        if (live)
            check();
    }
    void check()
    {
        if (waiting.size() < live || failed)
            return;
        failed = true;
        words = "deadlock:";
        for (auto &w : waiting)
            words += " " + w.why + ";";
        for (auto &w : waiting)
            w.cv->notify_all();
    }
};

} // namespace hls_sim

namespace hls {

template <typename T, int DEPTH = 0> class stream;

/* What functions take: a stream of whatever depth. */
template <typename T> class stream<T, 0> {
public:
    explicit stream(const char *label = "fifo", size_t room = 2) : name(label), ring(room) {}
    stream(const stream &) = delete;
    stream &operator=(const stream &) = delete;
    ~stream()
    {
        if (hls_sim::counting().load())
            hls_sim::counting().load()->add(name, tail.load());
    }

    void write(const T &value)
    {
        size_t t = tail.load(std::memory_order_relaxed);
        if (t - head.load(std::memory_order_acquire) == ring.size())
            wait(true);
        ring[t % ring.size()] = value;
        tail.store(t + 1);
        wake(false);
    }
    T read()
    {
        size_t h = head.load(std::memory_order_relaxed);
        if (h == tail.load(std::memory_order_acquire))
            wait(false);
        T value = ring[h % ring.size()];
        head.store(h + 1);
        wake(true);
        return value;
    }
    bool empty() const { return head.load() == tail.load(); }

    std::string name;

private:
    std::vector<T> ring;
    std::atomic<size_t> head{ 0 }, tail{ 0 };
    struct side { /* of the reader, or the writer */
        std::atomic<bool> sleeping{ false };
        std::condition_variable cv;
    } sides[2];

    bool stuck(bool writer) const { return tail.load() - head.load() == (writer ? ring.size() : 0); }

    void wait(bool writer)
    {
        hls_sim::region *r = hls_sim::current();
        side &me = sides[writer];
        if (!r) {
            std::fprintf(stderr, "'%s' is used outside a DATAFLOW function\n", name.c_str());
            std::abort();
        }
        for (int k = 0; k < 16 && stuck(writer); k++) /* mostly the other side is about to move */
            std::this_thread::yield();
        if (!stuck(writer))
            return;
        std::unique_lock<std::mutex> guard(r->lock);
        /* Again and again: who wakes this one may have meant an earlier wait. */
        for (me.sleeping.store(true); stuck(writer); me.sleeping.store(true)) {
            r->block((writer ? "full '" : "empty '") + name + "' (" + std::to_string(ring.size()) + ")", &me.cv);
            me.cv.wait(guard, [&] { return !me.sleeping.load() || r->failed; });
            if (r->failed)
                throw hls_sim::stop();
        }
        me.sleeping.store(false);
    }
    void wake(bool writer)
    {
        side &other = sides[writer];
        if (!other.sleeping.load())
            return;
        hls_sim::region *r = hls_sim::current();
        std::lock_guard<std::mutex> guard(r->lock);
        if (other.sleeping.load()) {
            other.sleeping.store(false);
            r->unblock(&other.cv);
            other.cv.notify_all();
        }
    }
};

template <typename T, int DEPTH> class stream : public stream<T, 0> {
public:
    explicit stream(const char *label = "fifo") : stream<T, 0>(label, DEPTH) {}
};

} // namespace hls

#endif
