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

// A signal to the other core between the waits comes behind the first of them alone, which stays.

// CHECK-LABEL: func.func @signal
// CHECK-NOT: ptobuf.event "left"
// CHECK: ptobuf.event "right"
// CHECK: ptobuf.wait
// CHECK-NEXT: pto.sync.set
func.func @signal(%n: index) {
  %c0 = arith.constant 0 : index
  %left = ptobuf.event "left" : !ptobuf.event<MTE1 -> M, 1>
  %right = ptobuf.event "right" : !ptobuf.event<MTE1 -> M, 1>
  scf.for %i = %c0 to %n step %n {
    ptobuf.set %left[%c0] : !ptobuf.event<MTE1 -> M, 1>
    ptobuf.set %right[%c0] : !ptobuf.event<MTE1 -> M, 1>
    ptobuf.wait %right[%c0] : !ptobuf.event<MTE1 -> M, 1>
    pto.sync.set <PIPE_M>, 3
    ptobuf.wait %left[%c0] : !ptobuf.event<MTE1 -> M, 1>
  }
  return
}
