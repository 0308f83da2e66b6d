// Moves particles; a particle knows the one that it follows. Compiled by nvcc -G -ptx -arch=sm_80.
struct Particle {
    float position;
    float speed;
    int follows;
};

extern "C" __global__ void move(Particle *all, int count, float time)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    Particle *own = all + i;
    const Particle *leader = all + own->follows;
    float gap = leader->position - own->position;
    own->position += own->speed * time;
    if (gap < 0.0f)
        own->speed = leader->speed;
}
