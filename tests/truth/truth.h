// What the kernels of this folder share. Each file is compiled twice: with FIXED=0 every kernel has its mistake, with
// FIXED=1 none has. Statements are macros, so that a report's line is that of the kernel.
#define K extern "C" __global__ void
#define T ((int)threadIdx.x)
#define B ((int)blockIdx.x)
#define I ((int)(blockIdx.x * blockDim.x + threadIdx.x))
typedef unsigned u32;
typedef unsigned long long u64;

#define ST(how, p, v) asm volatile("st." how ".u32 [%0], %1;" ::"l"(p), "r"(v) : "memory")
#define LD(how, v, p) asm volatile("ld." how ".u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory")
#define ATOM_ADD(how, v, p, n) asm volatile("atom." how ".add.u32 %0, [%1], %2;" : "=r"(v) : "l"(p), "r"(n) : "memory")
#define RED_ADD(how, p, n) asm volatile("red." how ".add.u32 [%0], %1;" ::"l"(p), "r"(n) : "memory")
#define FENCE(how) asm volatile("fence." how ";" ::: "memory")
#define SPIN(how, p, n) do { u32 seen; do LD(how, seen, p); while (seen != (u32)(n)); } while (0)

#define SHARED(p) ((u32)__cvta_generic_to_shared(p))
#define BAR_SYNC(id, n) asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory")
#define BAR_ARRIVE(id, n) asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory")

#define MBAR_INIT(b, n) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(SHARED(b)), "r"(n) : "memory")
#define MBAR_ARRIVE(b) asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(SHARED(b)) : "memory")
#define MBAR_RELAXED(b) asm volatile("{ .reg .b64 s; mbarrier.arrive.relaxed.cta.shared.b64 s, [%0]; }" ::"r"(SHARED(b)) : "memory")
#define MBAR_EXPECT(b, n) asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], %1; }" ::"r"(SHARED(b)), "r"(n) : "memory")
#define MBAR_WAIT(b, phase) asm volatile("{ .reg .pred p;\nW: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra W; }" ::"r"(SHARED(b)), "r"(phase) : "memory")

#define CP_ASYNC(s, g) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(s)), "l"(g) : "memory")
#define CP_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define CP_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define CP_ARRIVE(b) asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(SHARED(b)) : "memory")
#define BULK_LOAD(s, g, n, b) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(SHARED(s)), "l"(g), "r"(n), "r"(SHARED(b)) : "memory")
#define BULK_STORE(g, s, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(g), "r"(SHARED(s)), "r"(n) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT() asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
#define BULK_WAIT_READ() asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async;" ::: "memory")

#define CLUSTER_SYNC() asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
#define CLUSTER_ARRIVE(how) asm volatile("barrier.cluster.arrive" how ".aligned;" ::: "memory")
#define CLUSTER_WAIT() asm volatile("barrier.cluster.wait.aligned;" ::: "memory")
#define MAPA(at, p, rank) asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(SHARED(p)), "r"(rank))
#define ST_REMOTE(at, v) asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(at), "r"(v) : "memory")
#define LD_REMOTE(v, at) asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory")
