// RUN: pto-buf-opt %s | filecheck %s
// RUN: pto-buf-opt < %s | filecheck %s
// RUN: pto-buf-opt - < %s -o - | filecheck %s
// RUN: pto-buf-opt %s -o %t && filecheck %s --input-file %t
// RUN: ROUND_TRIP
// RUN: pto-buf-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC
// RUN: pto-buf-opt %s --print-debuginfo | filecheck %s --check-prefix PLACES
// RUN: pto-buf-opt %s -p canonicalize | filecheck %s --check-prefix FOLDED
// RUN: pto-buf-opt %s -p canonicalize --print-ir-after-all --timing 2>&1 | filecheck %s --check-prefix SHOWN

// CHECK:       func.func @sum(%n: index) -> index {
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %one = arith.constant 1 : index
// CHECK-NEXT:    %sum = scf.for %i = %zero to %n step %one iter_args(%partial = %zero) -> (index) {
// CHECK-NEXT:      %next = arith.addi %partial, %i : index
// CHECK-NEXT:      scf.yield %next : index
// CHECK-NEXT:    }
// CHECK-NEXT:    %unused = arith.addi %sum, %one : index
// CHECK-NEXT:    func.return %sum : index

// GENERIC: "scf.for"(%zero, %n, %one, %zero) ({
// GENERIC: "arith.addi"(%partial, %i)

// The line is that of the first op in the function below.
// PLACES: arith.constant 0 : index loc("{{.*}}opt.mlir":37:3)

// FOLDED:     func.func @sum
// FOLDED-NOT: %unused
// FOLDED:     func.return

// SHOWN: {{[0-9.]+}} s  read
// SHOWN: {{[0-9.]+}} s  canonicalize
// SHOWN: IR after canonicalize
// SHOWN: func.func @sum

func.func @sum(%n: index) -> index {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %sum = scf.for %i = %zero to %n step %one iter_args(%partial = %zero) -> (index) {
    %next = arith.addi %partial, %i : index
    scf.yield %next : index
  }
  %unused = arith.addi %sum, %one : index
  return %sum : index
}
