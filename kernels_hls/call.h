// call.h - a kernel's C++ function as the virtual board calls it: with the 64-bit values of its registers.
//
// HCY_HLS_KERNEL(NAME) behind the definition of NAME makes NAME_run, of type hcy_hls_run (args.h), and holds the
// number of its arguments against the catalogue.  Pointers are addresses on the board; table.cpp lists the kernels.
// Not for v++, which looks at the functions alone.
#ifndef HCY_HLS_CALL_H
#define HCY_HLS_CALL_H

#include "args.h"

#include <type_traits>
#include <utility>

namespace hcy_hls {

template <class T> struct argument {
    static_assert(std::is_integral<T>::value && sizeof(T) == 8, "a scalar has 64 bits");
    static T of(unsigned char *, uint64_t value) { return static_cast<T>(value); }
};

template <class T> struct argument<T *> {
    static T *of(unsigned char *memory, uint64_t value) { return reinterpret_cast<T *>(memory + value); }
};

template <class... A, std::size_t... I>
void call_kernel(void (*kernel)(A...), unsigned char *memory, const uint64_t *args, std::index_sequence<I...>)
{
    kernel(argument<A>::of(memory, args[I])...);
}

template <std::size_t N, class... A> void run_board(void (*kernel)(A...), unsigned char *memory, const uint64_t *args)
{
    static_assert(sizeof...(A) == N, "the function has other arguments than kernels.def");
    call_kernel(kernel, memory, args, std::index_sequence_for<A...>());
}

} // namespace hcy_hls

#define HCY_HLS_KERNEL(name)                                                      \
    extern "C" void name##_run(unsigned char *memory, const uint64_t *args);      \
    extern "C" void name##_run(unsigned char *memory, const uint64_t *args)       \
    {                                                                             \
        hcy_hls::run_board<hcy_hls_n_##name>(name, memory, args);                 \
    }

#endif
