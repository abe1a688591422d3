// RUN: pto-buf-opt %s -p ptobuf-allocate-events | filecheck %s

// The largest event begins at 0; all events of one source pipe have ids apart while those last.
// CHECK-LABEL: func.func @apart
// CHECK: ptobuf.event "one" {ids = array<i64: 5>}
// CHECK: ptobuf.event "three" {ids = array<i64: 0, 1, 2>}
// CHECK: ptobuf.event "two" {ids = array<i64: 3, 4>}
// CHECK: ptobuf.event "other" {ids = array<i64: 0, 1>}
func.func @apart() {
  %a = ptobuf.event "one" : !ptobuf.event<MTE2 -> V, 1>
  %b = ptobuf.event "three" : !ptobuf.event<MTE2 -> MTE1, 3>
  %c = ptobuf.event "two" : !ptobuf.event<MTE2 -> V, 2>
  %d = ptobuf.event "other" : !ptobuf.event<V -> MTE2, 2>
  return
}

// With more than eight lanes from one source, ids are counted for each pair of pipes.
// CHECK-LABEL: func.func @by_pair
// CHECK: ptobuf.event "six" {ids = array<i64: 0, 1, 2, 3, 4, 5>}
// CHECK: ptobuf.event "five" {ids = array<i64: 0, 1, 2, 3, 4>}
func.func @by_pair() {
  %a = ptobuf.event "six" : !ptobuf.event<MTE2 -> V, 6>
  %b = ptobuf.event "five" : !ptobuf.event<MTE2 -> MTE1, 5>
  return
}
