// RUN: pto-buf-opt %s -p ptobuf-allocate-events --expect-errors

// expected-error@+1 {{fences from MTE2 to V need 9 event ids at once, there are 8: five (5), four (4)}}
func.func @short() {
  %a = ptobuf.event "five" : !ptobuf.event<MTE2 -> V, 5>
  %b = ptobuf.event "four" : !ptobuf.event<MTE2 -> V, 4>
  %c = ptobuf.event "other" : !ptobuf.event<MTE2 -> MTE1, 4>
  return
}
