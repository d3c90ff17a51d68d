// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stands between the library and MPI, and counts what is sent.
#include "mpi/counted_calls.hpp"

#include <mpi.h>

counted_calls counted;

namespace {
std::int64_t bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return std::int64_t{count} * size;
}
}  // namespace

extern "C" {

int MPI_Allgather(void const* from, int count, MPI_Datatype type, void* to, int each, MPI_Datatype other,
                  MPI_Comm comm) {
  ++counted.gathers;
  counted.gathered_bytes += from == MPI_IN_PLACE ? bytes_of(each, other) : bytes_of(count, type);
  return PMPI_Allgather(from, count, type, to, each, other, comm);
}
int MPI_Allreduce(void const* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++counted.sums;
  counted.summed_bytes += bytes_of(count, type);
  return PMPI_Allreduce(from, to, count, type, op, comm);
}
int MPI_Reduce_scatter(void const* from, void* to, int const counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  int members = 0;
  PMPI_Comm_size(comm, &members);
  ++counted.sums_to_owners;
  for (int m = 0; m < members; ++m) counted.summed_bytes += bytes_of(counts[m], type);
  return PMPI_Reduce_scatter(from, to, counts, type, op, comm);
}
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++counted.others;
  return PMPI_Bcast(data, count, type, root, comm);
}
int MPI_Barrier(MPI_Comm comm) {
  ++counted.others;
  return PMPI_Barrier(comm);
}
int MPI_Send(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++counted.others;
  return PMPI_Send(data, count, type, to, tag, comm);
}
int MPI_Isend(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  ++counted.others;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
}
