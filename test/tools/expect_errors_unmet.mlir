// RUN: not pto-buf-opt %s --expect-errors 2>&1 | filecheck %s

// CHECK:     {{^}}{{.*}}expect_errors_unmet.mlir:9:19: error: unexpected error: value %b is not defined
// CHECK:     {{^}}{{.*}}expect_errors_unmet.mlir:10:3: error: expected error was not given: not so
// CHECK:     {{^}}{{.*}}expect_errors_unmet.mlir:11:3: error: expected note was not given: nor this
// CHECK-NOT: error:

func.func @f() {
  %a = arith.addi %b, %b : index
  // expected-error@-1 {{not so}}
  // expected-note@-2 {{nor this}}
  return
}
