typedef struct { float x, y, z, mass, vx, vy, vz, charge; } Particle;

kernel void structs(global Particle *p, float step)
{
    size_t i = get_global_id(0);
    p[i].x += p[i].vx * step;
    p[i].y += p[i].vy * step;
    p[i].z += p[i].vz * step;
    p[i].vx -= p[i].x * p[i].mass * step;
    p[i].vy -= p[i].y * p[i].mass * step;
    p[i].vz -= p[i].z * p[i].charge * step;
}
