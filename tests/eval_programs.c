/* eval_programs.c - programs that come as data: what a register holds is known before any step runs. */
#include "eval_programs.h"

#define S(OP, TO, A, B, C, MEMORY) { HCY_EVAL_##OP, TO, A, B, C, MEMORY }
#define F32 HCY_EVAL_M_F32
#define F64 HCY_EVAL_M_F64
#define I64 HCY_EVAL_M_I64
#define NUMBER(TO) S(VALUE, TO, 0, 0, 0, HCY_EVAL_F64)
#define PROGRAM(STEPS, FIXED, REDUCES, SCANS) \
    .n_steps = STEPS, .n_registers = 6, .n_fixed = FIXED, .reduces = REDUCES, .scans = SCANS
/* How most begin. */
#define LOADED(TYPE) S(LOAD, 0, 0, 0, 0, TYPE)
#define CARRIED      S(CARRY, 1, 2, 0, 1, F64)

/* words NULL: it runs, and operand 1's first element is then `first`. */
static const struct {
    const char *what;
    hcy_eval_program program;
    const char *words;
    double first;
} cases[] = {
    { "a sum that is sound",
      { PROGRAM(4, 1, 0, 0),
        .steps = { NUMBER(0), S(LOAD, 1, 0, 0, 0, F64), S(ADD_F64, 2, 0, 1, 0, 0), S(STORE, 1, 2, 0, 0, F64) } },
      NULL, 3.5 },
    { "a scan that is sound",
      { PROGRAM(4, 0, 0, 1),
        .steps = { LOADED(F64), CARRIED, S(SCAN_SUM_F64, 2, 0, 1, 0, 0),
                   S(STORE, 1, 2, 0, 0, F64) } },
      NULL, 1.5 },
    { "a float as a double",
      { PROGRAM(3, 0, 0, 0),
        .steps = { LOADED(F32), S(SQRT_F64, 1, 0, 0, 0, 0), S(STORE, 1, 1, 0, 0, F64) } },
      "step 1 of the program reads register 0 as f64, which holds f32", 0 },
    { "a float stored as a double",
      { PROGRAM(2, 0, 0, 0),
        .steps = { LOADED(F32), S(STORE, 1, 0, 0, 0, F64) } }, "as f64, which holds f32", 0 },
    { "a truth as an integer",
      { PROGRAM(4, 1, 0, 0),
        .steps = { NUMBER(0), S(LOAD, 1, 0, 0, 0, F64), S(LT_F64, 2, 0, 1, 0, 0), S(STORE, 1, 2, 0, 0, I64) } },
      "as i64, which holds b32", 0 },
    { "a float where a truth chooses",
      { PROGRAM(3, 1, 0, 0),
        .steps = { NUMBER(0), S(WHERE_F64, 1, 0, 0, 0, 0), S(STORE, 1, 1, 0, 0, F64) } },
      "as b32, which holds f64", 0 },
    { "what was never written",
      { PROGRAM(1, 0, 0, 0),
        .steps = { S(STORE, 1, 3, 0, 0, F64) } },
      "step 0 of the program reads register 3 as f64, which holds nothing", 0 },
    { "what is written only afterwards",
      { PROGRAM(3, 0, 0, 0),
        .steps = { S(NEG_F64, 1, 0, 0, 0, 0), LOADED(F64), S(STORE, 1, 1, 0, 0, F64) } },
      "step 0 of the program reads register 0 as f64, which holds nothing", 0 },
    { "the third argument",
      { PROGRAM(3, 1, 0, 0),
        .steps = { NUMBER(0), S(FMA_F64, 1, 0, 0, 5, 0), S(STORE, 1, 1, 0, 0, F64) } },
      "reads register 5 as f64, which holds nothing", 0 },
    { "a number for all pieces that a step changes",
      { PROGRAM(3, 1, 0, 0),
        .steps = { NUMBER(0), LOADED(F32), S(STORE, 1, 0, 0, 0, F32) } },
      "step 1 of the program writes register 0", 0 },
    { "a carry as a piece",
      { PROGRAM(5, 0, 0, 1),
        .steps = { LOADED(F64), CARRIED, S(SCAN_SUM_F64, 2, 0, 1, 0, 0),
                   S(NEG_F64, 3, 1, 0, 0, 0), S(STORE, 1, 3, 0, 0, F64) } },
      "as f64, which holds a carry of f64", 0 },
    { "a piece as a carry",
      { PROGRAM(3, 0, 0, 1),
        .steps = { LOADED(F64), S(SCAN_SUM_F64, 2, 0, 0, 0, 0), S(STORE, 1, 2, 0, 0, F64) } },
      "as a carry of f64, which holds f64", 0 },
    { "an exclusive scan's first number",
      { PROGRAM(4, 0, 0, 1),
        .steps = { LOADED(F64), CARRIED, S(SCAN_SUM_F64, 2, 0, 1, 4, 1),
                   S(STORE, 1, 2, 0, 0, F64) } },
      "reads register 4 as f64, which holds nothing", 0 },
    { "a carry without a scan",
      { PROGRAM(2, 0, 0, 0),
        .steps = { LOADED(F64), CARRIED } }, "do not fit", 0 },
    { "a scan that is not counted",
      { PROGRAM(4, 0, 0, 0),
        .steps = { LOADED(F64), CARRIED, S(SCAN_SUM_F64, 2, 0, 1, 0, 0),
                   S(STORE, 1, 2, 0, 0, F64) } },
      "do not fit", 0 },
    { "a float's least kept as a double",
      { PROGRAM(2, 0, 1, 0),
        .steps = { LOADED(F32), S(LEAST_F32, 1, 0, 0, 1, F64) } },
      "reduces to f32, which is stored as f64", 0 },
    { "a reduction of another type",
      { PROGRAM(2, 0, 1, 0),
        .steps = { LOADED(F32), S(SUM_F64, 1, 0, 0, 1, F64) } }, "as f64, which holds f32", 0 },
    { "a reduction that is not the last step",
      { PROGRAM(3, 0, 1, 0),
        .steps = { LOADED(F64), S(LEAST_F64, 1, 0, 0, 1, F64), S(NEG_F64, 1, 0, 0, 0, 0) } },
      NULL, 1.5 },
    { "a number in the middle",
      { PROGRAM(3, 0, 1, 0),
        .steps = { LOADED(F64), NUMBER(1), S(LEAST_F64, 1, 0, 0, 1, F64) } },
      NULL, 1.5 },
    { "a join that is sound",
      { PROGRAM(2, 0, 1, 0),
        .steps = { LOADED(F64), S(OWN_F64, 1, 0, 0, 1, F64) },
        .join = { 4, 3,
                  { S(LEFT, 0, 0, 0, 0, 0), S(RIGHT, 1, 0, 0, 0, 0), S(MAX_F64, 2, 0, 1, 0, 0),
                    S(JOINED, 0, 2, 0, 0, 0) } } },
      NULL, 1.5 },
    { "a join that takes its numbers as others",
      { PROGRAM(2, 0, 1, 0),
        .steps = { LOADED(F32), S(OWN_F32, 1, 0, 0, 1, F32) },
        .join = { 3, 3, { S(LEFT, 0, 0, 0, 0, 0), S(NEG_F64, 2, 0, 0, 0, 0), S(JOINED, 0, 2, 0, 0, 0) } } },
      "step 1 of the join reads register 0 as f64, which holds f32", 0 },
    { "a join of nothing",
      { PROGRAM(2, 0, 1, 0),
        .steps = { LOADED(F64), S(OWN_F64, 1, 0, 0, 1, F64) },
        .join = { 1, 3, { S(JOINED, 0, 2, 0, 0, 0) } } },
      "step 0 of the join reads register 2 as f64, which holds nothing", 0 },
};

/* Programs in one place with as many steps: what was found of one is not taken for the other. */
static void test_seen_before(void)
{
    hcy_eval_program sound = { PROGRAM(3, 0, 0, 0),
                               .steps = { LOADED(F64), S(NEG_F64, 1, 0, 0, 0, 0), S(STORE, 1, 1, 0, 0, F64) } },
                     bad = sound;
    static double numbers[PROGRAM_ELEMENTS];
    hcy_queue *queue = NULL;
    bad.steps[1].to = HCY_EVAL_REGISTERS;
    ok(!hcy_queue_create(&queue, bench.dev), "a queue");
    for (int i = 0; i < 3; i++)
        ok(!launch_program(queue, &sound, 2), "a program, again");
    ok(!hcy_queue_finish(queue), "they run");
    read_operand(numbers, 1);
    ok(numbers[0] == -1.5, "and each does what it says");
    int status = launch_program(queue, &bad, 2), end = hcy_queue_finish(queue);
    ok((status ? status : end) == HCY_EINVAL && strstr(hcy_last_error()->text, "step 1"), "another one there is refused");
    hcy_queue_release(queue);
}

static void test_cases(void)
{
    static double numbers[PROGRAM_ELEMENTS];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = run_program(&cases[i].program, 0.5);
        bool as_wanted = !status;
        if (cases[i].words)
            as_wanted = status == HCY_EINVAL && strstr(hcy_last_error()->text, cases[i].words);
        if (!cases[i].words)
            read_operand(numbers, 1);
        ok(as_wanted && (cases[i].words || numbers[0] == cases[i].first), "%s %s", cases[i].what,
           cases[i].words ? "is refused" : "runs");
        if (!as_wanted)
            diag("%d: %s", status, status ? hcy_last_error()->text : "");
    }
}

int main(void)
{
    begin_programs();
    test_cases();
    test_seen_before();
    bench.in_columns = true;
    test_cases();
    end_programs();
    return done_testing();
}
