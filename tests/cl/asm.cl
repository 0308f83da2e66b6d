// Assembly with operands.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// run: k<<<1, 2>>>(s32[15]:fill:-286331154)
// check: 0 s32: 11 11 48 48 4 8 240 240 3 3 9 9 7 7 300
// Assembly, as NVIDIA's compilers take it: operands by constraint, several outputs, fresh registers in a scope.
uint funnel(uint high, uint low)
{
    uint r;
    __asm__ volatile("shf.l.wrap.b32 %0, %1, %2, 4;" : "=r"(r) : "r"(low), "r"(high));
    return r;
}
__kernel void k(__global int *out)
{
    int i = get_local_id(0);
    int sum;
    asm("add.s32 %0, %1, %2;" : "=r"(sum) : "r"(i), "r"(11 - i));
    out[i] = sum;
    ulong both = (ulong)0x30 << 32 | 0x30;
    uint low, high;
    asm volatile("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(both));
    out[2 + i] = i ? high : low;
    int twice = 4 * (i + 1) / 2;
    asm volatile("add.s32 %0, %0, %0;" : "+r"(twice));
    out[4 + i] = twice;
    out[6 + i] = (int)funnel(15, 0);
    float f;
    asm("{\n .reg .f32 t;\n mul.f32 t, %1, %1;\n sub.f32 %0, t, %2;\n}" : "=f"(f) : "f"(2.0f), "f"(1.0f));
    out[8 + i] = (int)f;
    int shifted;
    asm("shl.b32 %0, %1, %2;\n\tadd.s32 %0, %0, 1;" : "=r"(shifted) : "r"(1), "n"(3));
    out[10 + i] = shifted;
    short narrow;
    asm("add.s16 %0, %1, %2;" : "=h"(narrow) : "h"((short)100), "h"((short)200));
    if (i == 0) out[14] = narrow;
    asm volatile("st.global.u32 [%0], %1;" :: "l"(out + 12 + i), "r"(7) : "memory");
}
