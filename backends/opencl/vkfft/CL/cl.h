/* CL/cl.h - what VkFFT finds in place of OpenCL's header: our declarations, and the functions of the loaded library.
 *
 * So the module needs no libOpenCL to be loaded, as everywhere else here.  A program's source goes to cl_build(),
 * which keeps the driver's binaries on disk and the compiler's words in the failure; its building is then done.
 */
#ifndef HCY_VKFFT_CL_H
#define HCY_VKFFT_CL_H

#include "cl_priv.h"

static cl_program build_program(const char *text, cl_int *error);

#define CL_TRUE 1

#define clBuildProgram(program, n, devices, options, notify, payload)    CL_SUCCESS
#define clCreateProgramWithSource(context, n, texts, sizes, error)       build_program(*(texts), error)
#define clCreateBuffer                                                   cl.clCreateBuffer
#define clCreateCommandQueue                                             cl.clCreateCommandQueue
#define clCreateKernel                                                   cl.clCreateKernel
#define clCreateProgramWithBinary                                        cl.clCreateProgramWithBinary
#define clEnqueueNDRangeKernel                                           cl.clEnqueueNDRangeKernel
#define clEnqueueReadBuffer                                              cl.clEnqueueReadBuffer
#define clEnqueueWriteBuffer                                             cl.clEnqueueWriteBuffer
#define clFinish                                                         cl.clFinish
#define clGetDeviceInfo                                                  cl.clGetDeviceInfo
#define clGetProgramBuildInfo                                            cl.clGetProgramBuildInfo
#define clGetProgramInfo                                                 cl.clGetProgramInfo
#define clReleaseCommandQueue                                            cl.clReleaseCommandQueue
#define clReleaseKernel                                                  cl.clReleaseKernel
#define clReleaseMemObject                                               cl.clReleaseMemObject
#define clReleaseProgram                                                 cl.clReleaseProgram
#define clSetKernelArg                                                   cl.clSetKernelArg

#endif
