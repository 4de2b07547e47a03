// The typed forms of PipelineBuilder's members: ordinary callables become step functions.
// Included by pipeline.h; nothing here is meant to be used directly.
#pragma once

#include <type_traits>
#include <utility>

namespace penstock {

namespace typed {

// The argument and result of a callable with one signature.
template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const noexcept> : Signature<R (*)(A...)> {};
template <class R>
struct Signature<R (*)()> {
  using Returns = R;
};
template <class R, class A>
struct Signature<R (*)(A)> {
  using Returns = R;
  using Takes = std::remove_cvref_t<A>;
};

template <class T>
struct IsResult : std::false_type {};
template <class T>
struct IsResult<Result<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// A step function takes a Context. std::function itself counts as one.
template <class F>
constexpr bool is_step = std::is_invocable_r_v<Step, F&, Context&>;

inline Step wrong_type(Context& ctx, const std::type_info& wanted) {
  return ctx.fail(Error(Code::invalid_argument, std::string("the stage takes ") + wanted.name() +
                                                    " but was given " + ctx.item().type_name()));
}

// Emits what a callable returned; `nothing` is what an empty optional means.
template <class R>
Step answer(Context& ctx, R returned, Step something, Step nothing) {
  if constexpr (IsResult<R>::value) {
    if (!returned.ok()) return ctx.fail(std::move(returned).error());
    return answer(ctx, std::move(returned).value(), something, nothing);
  } else if constexpr (IsOptional<R>::value) {
    if (!returned) return nothing;
    return answer(ctx, std::move(*returned), something, nothing);
  } else if constexpr (std::is_same_v<R, Item>) {
    ctx.emit(std::move(returned));
    return something;
  } else {
    ctx.emit(Item::of(std::move(returned)));
    return something;
  }
}

template <class T>
Result<T*> expect(Context& ctx) {
  if constexpr (std::is_same_v<T, Item>) {
    return &ctx.item();
  } else {
    if (T* value = ctx.item().get<T>()) return value;
    wrong_type(ctx, typeid(T));
    return Error(Code::invalid_argument, "");
  }
}

}  // namespace typed

template <class T>
Result<std::optional<T>> Pipeline::next() {
  for (;;) {
    Delivery got = get_item();
    switch (got.kind) {
      case Delivery::Kind::item:
        if (T* value = got.item.get<T>()) return std::optional<T>(std::move(*value));
        return Error(Code::invalid_argument, std::string("the pipeline delivers ") +
                                                 got.item.type_name() + ", not " +
                                                 typeid(T).name());
      case Delivery::Kind::end:
        return std::optional<T>();
      case Delivery::Kind::failed:
        return std::move(*got.error);
      case Delivery::Kind::epoch_end:
      case Delivery::Kind::timeout:
        break;
    }
  }
}

template <class F>
PipelineBuilder& PipelineBuilder::add_source(std::string name, F poll, StageOptions options) {
  if constexpr (typed::is_step<F>) {
    return add_source_step(std::move(name), std::move(poll), std::move(options));
  } else {
    return add_source_step(
        std::move(name),
        [poll = std::move(poll)](Context& ctx) mutable {
          return typed::answer(ctx, poll(), Step::again, Step::done);
        },
        std::move(options));
  }
}

template <class F>
PipelineBuilder& PipelineBuilder::pipe(std::string name, F op, StageOptions options) {
  if constexpr (typed::is_step<F>) {
    return add_step(std::move(name), std::move(op), Shape::one_with_waits, std::move(options));
  } else {
    using In = typename typed::Signature<F>::Takes;
    return add_step(
        std::move(name),
        [op = std::move(op)](Context& ctx) mutable {
          Result<In*> in = typed::expect<In>(ctx);
          if (!in.ok()) return Step::failed;
          return typed::answer(ctx, op(std::move(**in)), Step::done, Step::done);
        },
        Shape::one, std::move(options));
  }
}

template <class F>
PipelineBuilder& PipelineBuilder::stream(std::string name, F op, StageOptions options) {
  if constexpr (typed::is_step<F>) {
    return add_step(std::move(name), std::move(op), Shape::many, std::move(options));
  } else {
    using In = typename typed::Signature<F>::Takes;
    using Generator = typename typed::Signature<F>::Returns;
    return add_step(
        std::move(name),
        [op = std::move(op)](Context& ctx) mutable {
          // The generator takes the input's place and stays with the task.
          if (!ctx.item().holds<Generator>()) {
            Result<In*> in = typed::expect<In>(ctx);
            if (!in.ok()) return Step::failed;
            Generator generator = op(std::move(**in));
            ctx.item() = Item::of(std::move(generator));
          }
          return typed::answer(ctx, (*ctx.item().get<Generator>())(), Step::again, Step::done);
        },
        Shape::many, std::move(options));
  }
}

template <class Ticket, class Count, class Row>
PipelineBuilder& PipelineBuilder::fill(std::string name, Count rows, Row row,
                                       StageOptions options) {
  return fill(
      std::move(name), RowCount([rows = std::move(rows)](const Item& item) -> std::size_t {
        const Ticket* ticket = item.get<Ticket>();
        return ticket == nullptr ? 1 : static_cast<std::size_t>(rows(*ticket));
      }),
      RowFunction([row = std::move(row)](Item& item, std::size_t index, unsigned worker) -> Status {
        Ticket* ticket = item.get<Ticket>();
        if (ticket == nullptr) {
          return Error(Code::invalid_argument, std::string("the stage fills ") +
                                                   typeid(Ticket).name() + " but was given " +
                                                   item.type_name());
        }
        if constexpr (std::is_invocable_v<const Row&, Ticket&, std::size_t, unsigned>) {
          return row(*ticket, index, worker);
        } else {
          return row(*ticket, index);
        }
      }),
      std::move(options));
}

template <class T>
PipelineBuilder& PipelineBuilder::aggregate(int n, bool drop_last) {
  auto pending = std::make_shared<std::vector<T>>();
  if (n < 1) {
    mistake(Error(Code::invalid_argument, "aggregate: n is " + std::to_string(n) +
                                              "; give the number of items, 1 or more"));
  }
  const auto size = static_cast<std::size_t>(n);
  const auto hand_over = [pending](Context& ctx) {
    ctx.emit(Item::of(std::exchange(*pending, {})));
    return Step::done;
  };
  return aggregate(
      "aggregate(" + std::to_string(n) + ")",
      [pending, size, hand_over](Context& ctx) {
        Result<T*> in = typed::expect<T>(ctx);
        if (!in.ok()) return Step::failed;
        if (pending->empty()) pending->reserve(size);
        pending->push_back(std::move(**in));
        return pending->size() < size ? Step::done : hand_over(ctx);
      },
      [pending, drop_last, hand_over](Context& ctx) {
        if (drop_last) pending->clear();
        return pending->empty() ? Step::done : hand_over(ctx);
      });
}

template <class T>
PipelineBuilder& PipelineBuilder::disaggregate() {
  return stream("disaggregate", [](std::vector<T> items) {
    return [items = std::move(items), next = std::size_t{0}]() mutable -> std::optional<T> {
      if (next == items.size()) return std::nullopt;
      return std::move(items[next++]);
    };
  });
}

}  // namespace penstock
