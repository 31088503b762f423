// Sparse: a vector that is empty for most objects, in eight bytes instead of 24.
//
// Reads as the vector; a value, copied deeply. One thread at a time writes.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace sublet::store {

template <class T>
class Sparse {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;
  using iterator = const_iterator;

  Sparse() = default;
  Sparse(std::vector<T> items) : items_(items.empty() ? nullptr : std::make_unique<std::vector<T>>(std::move(items))) {}
  Sparse(std::initializer_list<T> items) : Sparse(std::vector<T>(items)) {}
  Sparse(const Sparse& other) : items_(other.items_ ? std::make_unique<std::vector<T>>(*other.items_) : nullptr) {}
  Sparse(Sparse&&) noexcept = default;
  Sparse& operator=(Sparse other) noexcept {
    items_ = std::move(other.items_);
    return *this;
  }
  ~Sparse() = default;

  operator const std::vector<T>&() const { return all(); }
  const std::vector<T>& all() const {
    static const std::vector<T> kNone;
    return items_ ? *items_ : kNone;
  }
  bool empty() const { return !items_ || items_->empty(); }
  std::size_t size() const { return all().size(); }
  const_iterator begin() const { return all().begin(); }
  const_iterator end() const { return all().end(); }
  const T& operator[](std::size_t at) const { return all()[at]; }
  const T& at(std::size_t at) const { return all().at(at); }

  template <class... Args>
  void emplace_back(Args&&... args) {
    if (!items_) items_ = std::make_unique<std::vector<T>>();
    items_->emplace_back(std::forward<Args>(args)...);
  }
  void push_back(T item) { emplace_back(std::move(item)); }

  friend bool operator==(const Sparse& a, const Sparse& b) { return a.all() == b.all(); }

 private:
  std::unique_ptr<std::vector<T>> items_;
};

}  // namespace sublet::store
