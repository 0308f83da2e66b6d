#define F(a, b) a b
#define BAD(a) a ## 
#include "missing.h"
#inclde <x>
int x = F(1);
#if 1 / 0
#endif
#error stop here
#pragma whatever
#define EMPTY
__constant int y = 1 @ 2;
