// Atomic functions with orders and scopes, on global, local and private objects.
// flags: -cl-std=CL3.0 -arch=sm_90
// flags: -cl-std=CL2.0 -arch=sm_70 -cl-opt-disable
// run: k<<<4, 64>>>(s32[16]:fill:0, s64[8]:fill:0, s32[4]:fill:-1)
// check: 0 s32: 256 -256 255 0 256 1 256 1024 96 1 7 9 3 2 5 0
// check: 1 s64: 768 255 -1099511627776 77 0 0 0 0
// check: 2 s32: 0 -1 -1 -1
global atomic_int shared_count = ATOMIC_VAR_INIT(0);
global atomic_flag lock = ATOMIC_FLAG_INIT;
void add(atomic_int *p) { atomic_fetch_add_explicit(p, 1, memory_order_relaxed, memory_scope_device); }
kernel void k(global atomic_int *out, global atomic_long *wide, global atomic_uint *bits)
{
    // Atomic objects are changed by functions only; results go to plain ones.
    global int *plain = (global int *)out;
    local atomic_int l;
    int i = get_local_id(0), g = get_global_id(0);
    if (i == 0) atomic_init(&l, 0);
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    add(&l);
    add(&shared_count);
    atomic_fetch_add(&out[0], 1);
    atomic_fetch_sub(&out[1], 1);
    atomic_fetch_max(&out[2], g);
    atomic_fetch_min_explicit(&out[3], g, memory_order_acq_rel, memory_scope_device);
    atomic_fetch_add(&wide[0], (long)3);
    atomic_fetch_max(&wide[1], (long)g);
    atomic_fetch_min(&wide[2], (long)g << 40 ? -(1l << 40) : 0l);
    atomic_fetch_and(bits, ~(1u << (g & 31)));
    work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group);
    if (i == 0) atomic_fetch_add(&out[4], atomic_load(&l));
    // A lock.
    for (bool done = false; !done;) {
        if (!atomic_flag_test_and_set_explicit(&lock, memory_order_acquire, memory_scope_device)) {
            int v = atomic_load_explicit(&out[6], memory_order_relaxed);
            atomic_store_explicit(&out[6], v + 1, memory_order_relaxed);
            atomic_flag_clear_explicit(&lock, memory_order_release, memory_scope_device);
            done = true;
        }
    }
    // A loop that exchanges.
    int seen = atomic_load_explicit(&out[7], memory_order_relaxed, memory_scope_device);
    while (!atomic_compare_exchange_weak(&out[7], &seen, seen + 4)) {}
    if (g == 0) {
        atomic_int own;
        atomic_init(&own, 95);
        atomic_fetch_add(&own, 1);
        plain[8] = atomic_load(&own);
        int expected = 5;
        plain[5] = !atomic_compare_exchange_strong(&own, &expected, 4) && expected == 96;
        atomic_float f;
        atomic_init(&f, 2.5f);
        float old = atomic_exchange(&f, 7.0f), same = 7.0f;
        plain[9] = old == 2.5f && atomic_compare_exchange_strong(&f, &same, 9.0f);
        plain[10] = (int)same;
        plain[11] = (int)atomic_load(&f);
        atomic_store(&own, 1);
        atomic_fetch_or(&own, 2);
        plain[12] = atomic_load(&own);
        atomic_fetch_xor(&own, 1);
        plain[13] = atomic_load(&own);
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE, memory_order_seq_cst, memory_scope_device);
        plain[14] = atomic_exchange_explicit(&out[14], 5, memory_order_acq_rel, memory_scope_work_group) + 5;
        atomic_store_explicit(&wide[3], (long)77, memory_order_release, memory_scope_all_svm_devices);
    }
}
