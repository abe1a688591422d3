// RUN: pto-buf-opt %s -p ptobuf-make-portable | filecheck %s

module attributes {pto.target_arch = "a3"} {

// A loop from a constant that is not negative to one that is not below it stays as it is; another upper bound is
// raised to the lower one.

// CHECK-LABEL: func.func @counted
// CHECK: scf.for %i = %c2 to %c8 step %c1
// CHECK: scf.for %i_1 = %c2 to %c2 step %c1
// CHECK: %[[CLAMPED:[^ ]+]] = arith.maxsi %n, %c2 : index
// CHECK-NEXT: scf.for %i_2 = %c2 to %[[CLAMPED]] step %c1
// CHECK: %u = arith.maxsi %n, %c0
// CHECK-NEXT: scf.for %i_3 = %c0 to %u step %c1
func.func @counted(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c2 to %c8 step %c1 {
    func.call @use(%i) : (index) -> ()
  }
  scf.for %i = %c2 to %c1 step %c1 {
    func.call @use(%i) : (index) -> ()
  }
  scf.for %i = %c2 to %n step %c1 {
    func.call @use(%i) : (index) -> ()
  }
  %u = arith.maxsi %n, %c0 : index
  scf.for %i = %c0 to %u step %c1 {
    func.call @use(%i) : (index) -> ()
  }
  return
}

// A lower bound that may be negative: from zero, and the bound is added inside.

// CHECK-LABEL: func.func @below_zero
// CHECK: %[[WAY:[^ ]+]] = arith.subi %n, %m : index
// CHECK-NEXT: %[[END:[^ ]+]] = arith.maxsi %[[WAY]], %c0 : index
// CHECK-NEXT: scf.for %[[I:[^ ]+]] = %c0 to %[[END]] step %c3 {
// CHECK-NEXT: %i = arith.addi %[[I]], %m : index
// CHECK-NEXT: func.call @use(%i)
// CHECK: scf.for %[[J:[^ ]+]] = %c0 to %c5 step %c3 {
// CHECK-NEXT: %i_1 = arith.addi %[[J]], %cm : index
// CHECK-NEXT: func.call @use(%i_1)
func.func @below_zero(%n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %cm = arith.constant -2 : index
  scf.for %i = %m to %n step %c3 {
    func.call @use(%i) : (index) -> ()
  }
  scf.for %i = %cm to %c3 step %c3 {
    func.call @use(%i) : (index) -> ()
  }
  return
}

// Of values that change places, those are worked out anew whose source is assigned before them.

// CHECK-LABEL: func.func @swapped
// CHECK: scf.for
// CHECK-NEXT: %[[NEGATIVE:[^ ]+]] = arith.muli %a, %{{[^ ]+}} : index
// CHECK-NEXT: %[[ANEW:[^ ]+]] = arith.subi %c0, %[[NEGATIVE]] : index
// CHECK-NEXT: scf.yield %b, %[[ANEW]], %c :
// CHECK: scf.for
// CHECK-NEXT: scf.yield %b_1, %i_1 :
// CHECK: scf.for
// CHECK-NEXT: %[[X:[^ ]+]] = arith.constant -0.000000e+00 : f32
// CHECK-NEXT: %[[MINUS:[^ ]+]] = arith.negf %x : f32
// CHECK-NEXT: %[[LATCH:[^ ]+]] = arith.subf %[[X]], %[[MINUS]] : f32
// CHECK-NEXT: scf.yield %y, %[[LATCH]] : f32, f32
// CHECK: scf.for
// CHECK-NEXT: %[[WIDE:[^ ]+]] = arith.extui %p : i1 to i32
// CHECK-NEXT: %[[SET:[^ ]+]] = arith.cmpi uge, %[[WIDE]], %{{[^ ]+}} : i32
// CHECK-NEXT: scf.yield %q, %[[SET]] : i1, i1
func.func @swapped(%f: f32, %g: f32, %s: i1, %t: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %c0, %b = %c1, %c = %c1) -> (index, index, index) {
    scf.yield %b, %a, %c : index, index, index
  }
  %l:2 = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %c0, %b = %c1) -> (index, index) {
    scf.yield %b, %i : index, index
  }
  %k:2 = scf.for %i = %c0 to %c1 step %c1 iter_args(%x = %f, %y = %g) -> (f32, f32) {
    scf.yield %y, %x : f32, f32
  }
  %j:2 = scf.for %i = %c0 to %c1 step %c1 iter_args(%p = %s, %q = %t) -> (i1, i1) {
    scf.yield %q, %p : i1, i1
  }
  return
}

// A value that does not change, and one that is worked out, are read as they are.

// CHECK-LABEL: func.func @in_order
// CHECK: scf.for
// CHECK-NEXT: %d = arith.addi %a, %b : index
// CHECK-NEXT: scf.yield %a, %d, %a :
func.func @in_order() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %c0, %b = %c1, %c = %c1) -> (index, index, index) {
    %d = arith.addi %a, %b : index
    scf.yield %a, %d, %a : index, index, index
  }
  return
}

// What passes through a while's condition as it came in is one variable on both sides of it; and with a while in the
// function, the counter of a for is a variable as well, assigned before all others.

// CHECK-LABEL: func.func @while_swapped
// CHECK: ^bb0(%c: index, %d: index):
// CHECK-NEXT: %[[NEGATIVE:[^ ]+]] = arith.muli %d, %{{[^ ]+}} : index
// CHECK-NEXT: %[[ANEW:[^ ]+]] = arith.subi %c0, %[[NEGATIVE]] : index
// CHECK-NEXT: scf.yield %c, %[[ANEW]] :
// CHECK: scf.for
// CHECK-NEXT: %[[NEXT:[^ ]+]] = arith.muli %i, %{{[^ ]+}} : index
// CHECK-NEXT: %[[COUNTER:[^ ]+]] = arith.subi %c0, %[[NEXT]] : index
// CHECK-NEXT: scf.yield %[[COUNTER]] : index
func.func @while_swapped(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.while (%a = %c0, %b = %c1) : (index, index) -> (index, index) {
    %go = arith.cmpi slt, %a, %n : index
    scf.condition(%go) %b, %a : index, index
  } do {
  ^bb0(%c: index, %d: index):
    scf.yield %c, %d : index, index
  }
  %l = scf.for %i = %c0 to %c1 step %c1 iter_args(%e = %c0) -> (index) {
    scf.yield %i : index
  }
  return
}

// Signed operations are not handed over themselves; sums and unsigned ones are.

// CHECK-LABEL: func.func @handed_over
// CHECK: %q = arith.divsi %n, %c3 : index
// CHECK-NEXT: %[[MINUS:[^ ]+]] = arith.muli %q, %{{[^ ]+}} : index
// CHECK-NEXT: %[[START:[^ ]+]] = arith.subi %c0, %[[MINUS]] : index
// CHECK-NEXT: scf.for {{.*}} iter_args(%a = %[[START]], %b = %c0)
// CHECK: %d = arith.maxsi %a, %c0 : index
// CHECK: %e = arith.remui %b, %c3 : index
// CHECK-NEXT: %[[LESS:[^ ]+]] = arith.muli %d, %{{[^ ]+}} : index
// CHECK-NEXT: %[[NEXT:[^ ]+]] = arith.subi %c0, %[[LESS]] : index
// CHECK-NEXT: scf.yield %[[NEXT]], %e :
func.func @handed_over(%n: index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %q = arith.divsi %n, %c3 : index
  %r:2 = scf.for %i = %c0 to %c3 step %c3 iter_args(%a = %q, %b = %c0) -> (index, index) {
    %d = arith.maxsi %a, %c0 : index
    %e = arith.remui %b, %c3 : index
    scf.yield %d, %e : index, index
  }
  return
}

// A narrow sum is converted by way of a choice between equals; a wide one, a quotient or an argument directly.

// CHECK-LABEL: func.func @narrow
// CHECK: %d = arith.subi %a, %b : i32
// CHECK-NEXT: %[[LOW:[^ ]+]] = arith.minsi %d, %{{[^ ]+}} : i32
// CHECK-NEXT: %[[SAME:[^ ]+]] = arith.maxsi %d, %[[LOW]] : i32
// CHECK-NEXT: %w = arith.index_cast %[[SAME]] : i32 to index
// CHECK: arith.divsi
// CHECK-NEXT: arith.extsi
// CHECK-NEXT: arith.sitofp %a
// CHECK-NEXT: arith.addi %{{.*}} : i64
// CHECK-NEXT: arith.index_cast
func.func @narrow(%a: i32, %b: i32, %l: i64) {
  %d = arith.subi %a, %b : i32
  %w = arith.index_cast %d : i32 to index
  %q = arith.divsi %a, %b : i32
  %e = arith.extsi %q : i32 to i64
  %f = arith.sitofp %a : i32 to f32
  %s = arith.addi %l, %l : i64
  %t = arith.index_cast %s : i64 to index
  return
}

// CHECK-LABEL: func.func @floats
// CHECK: %[[MINUS:[^ ]+]] = arith.negf %g : f32
// CHECK-NEXT: %h = arith.subf %f, %[[MINUS]] : f32
// CHECK-NEXT: arith.mulf %h, %g : f32
func.func @floats(%f: f32, %g: f32) {
  %h = arith.addf %f, %g : f32
  %k = arith.mulf %h, %g : f32
  return
}

func.func private @use(index) -> ()

// What a loop over natural numbers hands on is none below zero: a loop may begin there.
// CHECK-LABEL: func.func @left_over
// CHECK: %[[DONE:[^ ]+]] = scf.for
// CHECK: %[[END:[^ ]+]] = arith.maxsi %n, %c0 : index
// CHECK-NEXT: scf.for %{{[^ ]+}} = %[[DONE]] to %[[END]] step %c1
func.func @left_over(%n : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %u = arith.maxsi %n, %c0 : index
  %done = scf.for %i = %c0 to %u step %c3 iter_args(%next = %c0) -> (index) {
    %after = arith.addi %i, %c3 : index
    scf.yield %after : index
  }
  scf.for %j = %done to %n step %c1 {
  }
  return
}

}
