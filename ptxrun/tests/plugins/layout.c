/* Where the fields of the interface lie on 64-bit machines. A version stays as it is: what stands here is never changed,
   only added to. A test of ptx-debug/src/plugin.rs holds the same numbers. */
#include "ptxrun_observer.h"
#include <stddef.h>

#define AT(type, field, place) _Static_assert(offsetof(type, field) == place, #type "." #field)
#define SIZE(type, bytes) _Static_assert(sizeof(type) == bytes, #type)

AT(ptxrun_launch, kernel, 0);
AT(ptxrun_launch, grid, 8);
AT(ptxrun_launch, block, 20);
AT(ptxrun_launch, instructions, 32);
AT(ptxrun_instruction, number, 0);
AT(ptxrun_instruction, line, 4);
AT(ptxrun_instruction, source_line, 8);
AT(ptxrun_instruction, opcode, 16);
AT(ptxrun_instruction, text, 24);
AT(ptxrun_instruction, function, 32);
SIZE(ptxrun_instruction, 40);
AT(ptxrun_warp, instruction, 0);
AT(ptxrun_warp, block, 8);
AT(ptxrun_warp, warp, 20);
AT(ptxrun_warp, lanes, 24);
AT(ptxrun_warp, active, 28);
AT(ptxrun_warp, read_register, 32);
AT(ptxrun_warp, context, 40);
AT(ptxrun_access, instruction, 0);
AT(ptxrun_access, block, 8);
AT(ptxrun_access, warp, 20);
AT(ptxrun_access, lanes, 24);
AT(ptxrun_access, space, 28);
AT(ptxrun_access, action, 32);
AT(ptxrun_access, bytes, 36);
AT(ptxrun_access, addresses, 40);
AT(ptxrun_observer_table, version, 0);
AT(ptxrun_observer_table, wants, 4);
AT(ptxrun_observer_table, start, 8);
AT(ptxrun_observer_table, filter, 16);
AT(ptxrun_observer_table, instruction, 24);
AT(ptxrun_observer_table, access, 32);
AT(ptxrun_observer_table, end, 40);
#if PTXRUN_OBSERVER_VERSION >= 2
AT(ptxrun_counts, instructions, 0);
AT(ptxrun_counts, issues, 8);
AT(ptxrun_counts, count, 16);
AT(ptxrun_counts, warp_instructions, 24);
AT(ptxrun_counts, thread_instructions, 32);
AT(ptxrun_observer_table, counts, 48);
SIZE(ptxrun_observer_table, 56);
#else
SIZE(ptxrun_observer_table, 48);
#endif
