"""Operations of OpenCV on UMat, each beside the same operation on the processor.

    ptxrun exec -- python clients/opencl/opencv_umat.py [NAME...]

An operation passes when OpenCV launched kernels for it (but for `ON_THE_PROCESSOR`) and the result is that of the
processor, within the tolerance of its line. Launches are counted by a small library between OpenCV and the OpenCL loader, so a C compiler and OpenCL's
headers are needed; OpenCV itself falls back without a word.
"""

import ctypes
import os
import subprocess
import sys
import tempfile

COUNTER = r"""
#define _GNU_SOURCE
#include <CL/cl.h>
#include <dlfcn.h>
static int launches;
int ptxrun_launches(void) { return launches; }
cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g,
                              const size_t *l, cl_uint n, const cl_event *w, cl_event *e)
{
    static cl_int (*next)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint,
                          const cl_event *, cl_event *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    launches++;
    return next(q, k, d, o, g, l, n, w, e);
}
"""


def counter():
    """The library between: OpenCV looks functions up in it, and in what it is linked with."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "libcounter.so")
    with open(os.path.join(folder, "counter.c"), "w") as file:
        file.write(COUNTER)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-DCL_TARGET_OPENCL_VERSION=300", "-Wl,--no-as-needed", "-o", path, file.name]
        + ["-lOpenCL", "-ldl"],
        check=True,
    )
    os.environ["OPENCV_OPENCL_RUNTIME"] = path
    return ctypes.CDLL(path).ptxrun_launches


launches = counter()
os.environ.setdefault("OPENCV_OPENCL_DEVICE", ":GPU:" if os.environ.get("PTXRUN_DEVICE") else ":CPU:")
os.environ.setdefault("OPENCV_OPENCL_CACHE_ENABLE", "0")

import cv2
import numpy as np

rng = np.random.default_rng(1)
H, W = 96, 128
gray = rng.integers(0, 256, (H, W), dtype=np.uint8)
gray2 = rng.integers(1, 256, (H, W), dtype=np.uint8)
color = rng.integers(0, 256, (H, W, 3), dtype=np.uint8)
smooth = cv2.GaussianBlur(color, (9, 9), 3)
real = rng.random((H, W), dtype=np.float32)
real2 = rng.random((H, W), dtype=np.float32) + 0.5
short = rng.integers(-3000, 3000, (H, W), dtype=np.int16)
square_a = rng.random((64, 64), dtype=np.float32)
square_b = rng.random((64, 64), dtype=np.float32)
mask = (gray > 100).astype(np.uint8) * 255
map_x, map_y = np.meshgrid(np.arange(W, dtype=np.float32), np.arange(H, dtype=np.float32))
map_x = (map_x + 3 * np.sin(map_y / 9)).astype(np.float32)
turn = cv2.getRotationMatrix2D((W / 2, H / 2), 20, 0.9)
perspective = np.array([[1, 0.1, 2], [0.05, 0.9, 3], [0.0005, 0.0002, 1]], np.float64)
element = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))
table = rng.permutation(256).astype(np.uint8)
kernel = rng.random((5, 5), dtype=np.float32) - 0.5

# Name, inputs, operation, largest difference that still passes.
OPERATIONS = [
    ("add", (gray, gray2), cv2.add, 0),
    ("add, mask", (gray, gray2, mask), lambda a, b, m: cv2.add(a, b, mask=m), 0),
    ("subtract", (gray, gray2), cv2.subtract, 0),
    ("multiply, float", (real, real2), cv2.multiply, 1e-6),
    ("divide", (gray, gray2), cv2.divide, 1),
    ("absdiff", (gray, gray2), cv2.absdiff, 0),
    ("addWeighted", (gray, gray2), lambda a, b: cv2.addWeighted(a, 0.3, b, 0.6, 4.0), 1),
    ("scaleAdd", (real, real2), lambda a, b: cv2.scaleAdd(a, 1.5, b), 1e-6),
    ("bitwise_and", (gray, gray2), cv2.bitwise_and, 0),
    ("bitwise_xor", (gray, gray2), cv2.bitwise_xor, 0),
    ("bitwise_not", (gray,), cv2.bitwise_not, 0),
    ("compare", (gray, gray2), lambda a, b: cv2.compare(a, b, cv2.CMP_GT), 0),
    ("min", (gray, gray2), cv2.min, 0),
    ("max", (short, short[::-1].copy()), cv2.max, 0),
    ("inRange", (gray,), lambda a: cv2.inRange(a, 50, 150), 0),
    ("exp", (real,), cv2.exp, 1e-5),
    ("log", (real2,), cv2.log, 1e-5),
    ("sqrt", (real,), cv2.sqrt, 1e-6),
    ("pow", (real2,), lambda a: cv2.pow(a, 2.5), 1e-5),
    ("magnitude", (real, real2), cv2.magnitude, 1e-6),
    ("phase", (real, real2), cv2.phase, 2e-3),
    ("cartToPolar", (real, real2), lambda a, b: cv2.cartToPolar(a, b)[1], 6e-3),
    ("polarToCart", (real, real2), lambda a, b: cv2.polarToCart(a, b)[0], 1e-4),
    ("convertScaleAbs", (short,), lambda a: cv2.convertScaleAbs(a, alpha=0.05, beta=3), 1),
    ("normalize", (gray,), lambda a: cv2.normalize(a, None, 0, 200, cv2.NORM_MINMAX), 1),
    ("LUT", (gray,), lambda a: cv2.LUT(a, table), 0),
    ("sum", (gray,), cv2.sumElems, 0),
    ("mean", (color,), cv2.mean, 1e-9),
    ("meanStdDev", (gray,), lambda a: np.concatenate([np.asarray(host(p)).ravel() for p in cv2.meanStdDev(a)]), 1e-6),
    ("minMaxLoc", (gray,), lambda a: cv2.minMaxLoc(a)[:2], 0),
    ("norm", (real, real2), lambda a, b: cv2.norm(a, b, cv2.NORM_L2), 1e-3),
    ("countNonZero", (mask,), cv2.countNonZero, 0),
    ("reduce", (real,), lambda a: cv2.reduce(a, 0, cv2.REDUCE_SUM), 1e-4),
    ("merge", (gray, gray2), lambda a, b: cv2.merge([a, b]), 0),
    ("split", (color,), lambda a: cv2.split(a)[1], 0),
    ("transpose", (gray,), cv2.transpose, 0),
    ("flip", (color,), lambda a: cv2.flip(a, -1), 0),
    ("repeat", (gray,), lambda a: cv2.repeat(a, 2, 3), 0),
    ("copyMakeBorder", (gray,), lambda a: cv2.copyMakeBorder(a, 3, 4, 5, 6, cv2.BORDER_REFLECT_101), 0),
    ("gemm", (square_a, square_b), lambda a, b: cv2.gemm(a, b, 1.0, None, 0.0), 1e-4),
    ("dft", (square_a,), lambda a: cv2.dft(a, flags=cv2.DFT_COMPLEX_OUTPUT), 1e-2),
    ("mulSpectrums", (square_a[:, :].reshape(64, 32, 2), square_b.reshape(64, 32, 2)),
     lambda a, b: cv2.mulSpectrums(a, b, 0), 1e-5),
    ("cvtColor, gray", (color,), lambda a: cv2.cvtColor(a, cv2.COLOR_BGR2GRAY), 1),
    ("cvtColor, HSV", (color,), lambda a: cv2.cvtColor(a, cv2.COLOR_BGR2HSV), 1),
    ("cvtColor, Lab", (smooth,), lambda a: cv2.cvtColor(a, cv2.COLOR_BGR2Lab), 2),
    ("cvtColor, YUV", (color,), lambda a: cv2.cvtColor(a, cv2.COLOR_BGR2YUV), 1),
    ("threshold", (gray,), lambda a: cv2.threshold(a, 120, 255, cv2.THRESH_BINARY)[1], 0),
    ("adaptiveThreshold", (gray,), lambda a: cv2.adaptiveThreshold(
        a, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY, 7, 4), 0),
    ("resize, linear", (color,), lambda a: cv2.resize(a, (200, 150), interpolation=cv2.INTER_LINEAR), 1),
    ("resize, area", (gray,), lambda a: cv2.resize(a, (32, 24), interpolation=cv2.INTER_AREA), 1),
    ("warpAffine", (smooth,), lambda a: cv2.warpAffine(a, turn, (W, H)), 3),
    ("warpPerspective", (smooth,), lambda a: cv2.warpPerspective(a, perspective, (W, H)), 3),
    ("remap", (smooth,), lambda a: cv2.remap(a, map_x, map_y, cv2.INTER_LINEAR), 2),
    ("blur", (gray,), lambda a: cv2.blur(a, (5, 5)), 1),
    ("GaussianBlur", (gray,), lambda a: cv2.GaussianBlur(a, (5, 5), 1.2), 1),
    ("medianBlur", (gray,), lambda a: cv2.medianBlur(a, 3), 0),
    ("bilateralFilter", (smooth,), lambda a: cv2.bilateralFilter(a, 5, 30, 30), 2),
    ("filter2D", (real,), lambda a: cv2.filter2D(a, -1, kernel), 1e-5),
    ("sepFilter2D", (gray,), lambda a: cv2.sepFilter2D(a, cv2.CV_32F, kernel[0], kernel[1]), 1e-3),
    ("Sobel", (gray,), lambda a: cv2.Sobel(a, cv2.CV_16S, 1, 0), 0),
    ("Scharr", (gray,), lambda a: cv2.Scharr(a, cv2.CV_32F, 0, 1), 1e-4),
    ("Laplacian", (gray,), lambda a: cv2.Laplacian(a, cv2.CV_32F, ksize=3), 1e-4),
    ("erode", (gray,), lambda a: cv2.erode(a, element), 0),
    ("dilate", (gray,), lambda a: cv2.dilate(a, element), 0),
    ("morphologyEx", (gray,), lambda a: cv2.morphologyEx(a, cv2.MORPH_GRADIENT, element), 0),
    ("pyrDown", (gray,), cv2.pyrDown, 1),
    ("pyrUp", (gray,), cv2.pyrUp, 1),
    ("integral", (gray,), cv2.integral, 0),
    ("equalizeHist", (gray,), cv2.equalizeHist, 1),
    ("calcHist", (gray,), lambda a: cv2.calcHist([a], [0], None, [64], [0, 256]), 0),
    ("Canny", (smooth[:, :, 0].copy(),), lambda a: cv2.Canny(a, 30, 80), 0),
    ("cornerHarris", (gray,), lambda a: cv2.cornerHarris(a, 3, 3, 0.04), 1e-3),
    ("goodFeaturesToTrack", (smooth[:, :, 0].copy(),), lambda a: cv2.goodFeaturesToTrack(a, 20, 0.05, 5), 1),
    ("matchTemplate", (real, real[20:36, 30:50].copy()),
     lambda a, t: cv2.matchTemplate(a, t, cv2.TM_CCOEFF_NORMED), 1e-3),
    ("CLAHE", (gray,), lambda a: cv2.createCLAHE(2.0, (4, 4)).apply(a), 1),
    ("fastNlMeansDenoising", (smooth[:, :, 0].copy(),), lambda a: cv2.fastNlMeansDenoising(a, None, 3, 5, 11), 2),
    ("calcOpticalFlowFarneback", (smooth[:, :, 0].copy(), np.roll(smooth[:, :, 0], 1, 1)),
     lambda a, b: cv2.calcOpticalFlowFarneback(a, b, None, 0.5, 2, 9, 3, 5, 1.1, 0), 0.1),
]


# OpenCV 5.0.0 launches nothing for these, on any device: PoCL's gets no launch either.
ON_THE_PROCESSOR = ["mean", "meanStdDev", "norm", "gemm", "adaptiveThreshold", "Laplacian", "calcHist"]


def host(x):
    return x.get() if isinstance(x, cv2.UMat) else x


def main():
    if not cv2.ocl.haveOpenCL():
        sys.exit("OpenCV finds no OpenCL device")
    cv2.ocl.setUseOpenCL(True)
    device = cv2.ocl.Device.getDefault()
    print(f"OpenCV {cv2.__version__} on {device.name()} ({device.vendorName()}), {device.version()}")
    chosen = [o for o in OPERATIONS if len(sys.argv) < 2 or any(w in o[0] for w in sys.argv[1:])]
    failed = 0

    for name, inputs, op, tolerance in chosen:
        cv2.ocl.setUseOpenCL(False)
        want = np.asarray(host(op(*inputs)), np.float64)
        cv2.ocl.setUseOpenCL(True)
        before = launches()
        try:
            got = np.asarray(host(op(*[cv2.UMat(i) for i in inputs])), np.float64)
            difference = float(np.max(np.abs(got - want))) if got.shape == want.shape else float("inf")
            wrong = None if difference <= tolerance else f"differs by {difference:g}"
            if launches() == before and name not in ON_THE_PROCESSOR:
                wrong = "no kernel was launched: OpenCV fell back"
        except cv2.error as error:
            wrong = " ".join(str(error).split())[:400]
        if wrong:
            failed += 1
            print(f"{name}: FAILED, {wrong}")
        sys.stdout.flush()
    print(f"{len(chosen) - failed} of {len(chosen)} operations pass")
    sys.exit(failed != 0)


main()
