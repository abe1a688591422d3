// RUN: pto-buf-opt %s -p ptobuf-reduce-fences | filecheck %s

// Both events are set behind the same work and waited for before the same work: one of them says it all. Their lanes
// are equal though they are worked out twice.

// CHECK-LABEL: func.func @twins
// CHECK: ptobuf.event "left"
// CHECK-NOT: ptobuf.event "right"
// CHECK: scf.for
// CHECK: ptobuf.set %[[E:[^ ]+]][
// CHECK-NEXT: ptobuf.wait %[[E]][
// CHECK-NEXT: }
func.func @twins(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %left = ptobuf.event "left" : !ptobuf.event<MTE1 -> M, 2>
  %right = ptobuf.event "right" : !ptobuf.event<MTE1 -> M, 2>
  scf.for %i = %c0 to %n step %c1 {
    %s = arith.remui %i, %c2 : index
    %t = arith.remui %i, %c2 : index
    ptobuf.set %left[%s] : !ptobuf.event<MTE1 -> M, 2>
    ptobuf.set %right[%t] : !ptobuf.event<MTE1 -> M, 2>
    ptobuf.wait %left[%s] : !ptobuf.event<MTE1 -> M, 2>
    ptobuf.wait %right[%t] : !ptobuf.event<MTE1 -> M, 2>
  }
  return
}

// Other lanes, other tokens.

// CHECK-LABEL: func.func @other_lanes
// CHECK: ptobuf.event "left"
// CHECK: ptobuf.event "right"
func.func @other_lanes(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %left = ptobuf.event "left" : !ptobuf.event<MTE1 -> M, 2>
  %right = ptobuf.event "right" : !ptobuf.event<MTE1 -> M, 2>
  scf.for %i = %c0 to %n step %c1 {
    %s = arith.remui %i, %c2 : index
    %j = arith.addi %i, %c1 : index
    %t = arith.remui %j, %c2 : index
    ptobuf.set %left[%s] : !ptobuf.event<MTE1 -> M, 2>
    ptobuf.set %right[%t] : !ptobuf.event<MTE1 -> M, 2>
    ptobuf.wait %left[%s] : !ptobuf.event<MTE1 -> M, 2>
    ptobuf.wait %right[%t] : !ptobuf.event<MTE1 -> M, 2>
  }
  return
}
