// RUN: not pto-buf-opt %s --expect-errors 2>&1 | filecheck %s

// CHECK:      {{^}}{{.*}}expect_errors_misspelt.mlir:7: error: a comment that looks like an expectation but is not one
// CHECK-NEXT: return

func.func @f() {
  return // expected-eror {{misspelt}}
}
