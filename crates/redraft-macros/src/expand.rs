//! Writes the update of a state and the `State` implementation.
//!
//! Rules for generated code: every path starts at `::core` or `::redraft`, so that nothing the user has in scope
//! matters; every item has a doc comment, for users who deny `missing_docs`; every use of a reducer is written by
//! [`Field::reducer_fn`], so that a type that does not fit is reported once.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Generics, Ident, parse_quote};

use crate::input::{Field, Input, JOIN, Reducer};

/// Writes everything that `#[derive(State)]` stands for.
pub(crate) fn state(input: &Input) -> TokenStream {
    let update = update_struct(input);
    let methods = methods_impl(input);
    let state = state_impl(input);
    let default = default_impl(input);
    let serialize = serialize_impl(input);
    let debug = debug_impl(input);
    quote!(#update #methods #state #default #serialize #debug)
}

fn update_struct(Input { name, update, vis, generics, fields }: &Input) -> TokenStream {
    let where_clause = &generics.where_clause;
    let bounds = deserialize_bounds(generics);
    let doc = format!("What a step changes in `{name}`: the new data, and nothing else.");
    let fields = fields.iter().map(|field| {
        let Field { name, vis, ty, .. } = field;
        let plain = field.plain_name();
        let (doc, ty) = match field.reducer {
            Reducer::Replace => (
                format!("The new value of `{plain}`, if it changes."),
                quote!(::redraft::workflow::Change<#ty>),
            ),
            Reducer::Append => (format!("What is added at the end of `{plain}`."), ty.clone()),
            Reducer::Merge => (format!("The entries that go into `{plain}`."), ty.clone()),
        };
        quote!(#[doc = #doc] #vis #name: #ty)
    });
    quote! {
        #[doc = #doc]
        #[must_use = "an update changes nothing until a step returns it or a state applies it"]
        #[derive(::core::clone::Clone, ::redraft::__private::serde::Deserialize)]
        #[serde(crate = "::redraft::__private::serde", default, bound(deserialize = #bounds))]
        #vis struct #update #generics #where_clause { #(#fields),* }
    }
}

/// Says what serde may ask of type parameters.
///
/// Left alone it would ask for `Deserialize<'de>`, which is ambiguous next to a user's own `DeserializeOwned`.
fn deserialize_bounds(generics: &Generics) -> String {
    let bound = |name| format!("{name}: ::redraft::__private::serde::de::DeserializeOwned");
    let bounds: Vec<_> = generics.type_params().map(|parameter| bound(&parameter.ident)).collect();
    bounds.join(", ")
}

fn methods_impl(Input { update, generics, fields, .. }: &Input) -> TokenStream {
    let (parameters, arguments, where_clause) = generics.split_for_impl();
    let setters = fields.iter().map(setters);
    let join = Ident::new(JOIN, Span::call_site());
    let joined = fields.iter().map(|field| {
        let name = &field.name;
        match field.reducer {
            Reducer::Replace => {
                let and = field.reducer_fn("and");
                quote!(self.#name = #and(self.#name, later.#name);)
            }
            Reducer::Append | Reducer::Merge => field.fold(&quote!(later.#name)),
        }
    });
    quote! {
        impl #parameters #update #arguments #where_clause {
            #(#setters)*

            /// Joins two updates: applying the result is the same as applying this one and then `later`.
            pub fn #join(mut self, later: Self) -> Self {
                #(#joined)*
                self
            }
        }
    }
}

/// Writes the methods with which a step fills one field of the update.
fn setters(field: &Field) -> TokenStream {
    let Field { name, vis, ty, .. } = field;
    let plain = field.plain_name();
    match field.reducer {
        Reducer::Replace => {
            let method = field.method(None);
            let doc = format!("Sets `{plain}`, whatever it was before.");
            // A bare number could become several types and would be taken for an `i32`, so numbers come as they are.
            let (taken, value) = if field.is_primitive {
                (quote!(#ty), quote!(value))
            } else {
                (quote!(impl ::core::convert::Into<#ty>), quote!(::core::convert::Into::into(value)))
            };
            quote! {
                #[doc = #doc]
                #vis fn #method(mut self, value: #taken) -> Self {
                    self.#name = ::redraft::workflow::Change::Set(#value);
                    self
                }
            }
        }
        Reducer::Append => {
            let (append, extend) = (field.method(Some("append")), field.method(Some("extend")));
            let append_doc = format!("Adds one item at the end of `{plain}`.");
            let extend_doc = format!("Adds items at the end of `{plain}`, in their order.");
            let append_item = field.reducer_fn("append_item");
            // Where the item has to be asked for, the bound keeps the signature quiet about a type that does not
            // fit; `for` puts off the compiler's check of a bound without parameters until the method is called.
            let (item, bound) = match &field.item {
                Some(item) => (item.clone(), None),
                None => (
                    quote!(<#ty as ::redraft::workflow::Append>::Item),
                    Some(quote!(where for<'__late> #ty: ::redraft::workflow::Append)),
                ),
            };
            quote! {
                #[doc = #append_doc]
                #vis fn #append(mut self, item: #item) -> Self #bound {
                    let append = #append_item;
                    append(&mut self.#name, item);
                    self
                }

                #[doc = #extend_doc]
                #vis fn #extend(mut self, items: impl ::core::iter::IntoIterator<Item = #item>) -> Self
                #bound
                {
                    let append = #append_item;
                    for item in items {
                        append(&mut self.#name, item);
                    }
                    self
                }
            }
        }
        Reducer::Merge => {
            let merge = field.method(Some("merge"));
            let doc = format!("Adds entries to `{plain}`; where one is there already, the new one wins.");
            let fold = field.fold(&quote!(entries));
            quote! {
                #[doc = #doc]
                #vis fn #merge(mut self, entries: #ty) -> Self {
                    #fold
                    self
                }
            }
        }
    }
}

fn state_impl(Input { name, update, generics, fields, .. }: &Input) -> TokenStream {
    let bounded = bound_parameters(
        generics,
        &quote! {
            ::core::clone::Clone
                + ::core::marker::Send
                + ::core::marker::Sync
                + ::redraft::__private::serde::Serialize
                + ::redraft::__private::serde::de::DeserializeOwned
                + 'static
        },
    );
    let (parameters, arguments, where_clause) = bounded.split_for_impl();
    let applied = fields.iter().map(|field| {
        let name = &field.name;
        field.fold(&quote!(update.#name))
    });
    quote! {
        #[automatically_derived]
        impl #parameters ::redraft::workflow::State for #name #arguments #where_clause {
            type Update = #update #arguments;

            fn apply(&mut self, update: #update #arguments) {
                #(#applied)*
            }
        }
    }
}

/// Not derived, because the derive would ask for `Default` of every type parameter.
fn default_impl(Input { update, generics, fields, .. }: &Input) -> TokenStream {
    let (parameters, arguments, where_clause) = generics.split_for_impl();
    let fields = fields.iter().map(|field| {
        let name = &field.name;
        match field.reducer {
            Reducer::Replace => quote!(#name: ::redraft::workflow::Change::Keep),
            Reducer::Append | Reducer::Merge => {
                let nothing = field.reducer_fn("nothing");
                quote!(#name: { let nothing = #nothing; nothing() })
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #parameters ::core::default::Default for #update #arguments #where_clause {
            fn default() -> Self {
                Self { #(#fields),* }
            }
        }
    }
}

/// Not derived, because `skip_serializing_if` would report a type that does not fit a second time.
fn serialize_impl(Input { update, generics, fields, .. }: &Input) -> TokenStream {
    let bounded = bound_parameters(generics, &quote!(::redraft::__private::serde::Serialize));
    let (parameters, arguments, where_clause) = bounded.split_for_impl();
    let title = update.to_string();
    let changed: Vec<_> = fields.iter().map(Field::is_changed).collect();
    let fields = fields.iter().zip(&changed).map(|(field, changed)| {
        let (name, plain) = (&field.name, field.plain_name());
        quote! {
            if #changed {
                ::redraft::__private::serde::ser::SerializeStruct::serialize_field(&mut json, #plain, &self.#name)?;
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #parameters ::redraft::__private::serde::Serialize for #update #arguments #where_clause {
            fn serialize<__S: ::redraft::__private::serde::Serializer>(
                &self,
                serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                let count = 0 #(+ (#changed) as ::core::primitive::usize)*;
                let mut json = serializer.serialize_struct(#title, count)?;
                #(#fields)*
                ::redraft::__private::serde::ser::SerializeStruct::end(json)
            }
        }
    }
}

/// Names what changes and shows no values: a derived `Debug` would ask for it of every field's type.
fn debug_impl(Input { update, generics, fields, .. }: &Input) -> TokenStream {
    let (parameters, arguments, where_clause) = generics.split_for_impl();
    let title = update.to_string();
    let fields = fields.iter().map(|field| {
        let (changed, plain) = (field.is_changed(), field.plain_name());
        quote! {
            if #changed {
                changes.field(&::core::format_args!(#plain));
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #parameters ::core::fmt::Debug for #update #arguments #where_clause {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut changes = f.debug_tuple(#title);
                #(#fields)*
                changes.finish()
            }
        }
    }
}

/// Asks something of every type parameter, as the derives of the standard library do.
fn bound_parameters(generics: &Generics, bound: &TokenStream) -> Generics {
    let mut bounded = generics.clone();
    for parameter in generics.type_params() {
        let parameter = &parameter.ident;
        bounded.make_where_clause().predicates.push(parse_quote!(#parameter: #bound));
    }
    bounded
}

impl Field {
    /// Returns a method's name that keeps its place in the file, so that an editor jumps to the field, but not its
    /// origin, so that lints take the method for generated code.
    fn method(&self, verb: Option<&str>) -> Ident {
        let mut method = match verb {
            Some(verb) => format_ident!("{verb}_{}", self.name),
            None => self.name.clone(),
        };
        method.set_span(self.name.span().resolved_at(Span::call_site()));
        method
    }

    /// Returns the statement that folds `new` into this field of `self`.
    fn fold(&self, new: &TokenStream) -> TokenStream {
        let name = &self.name;
        match self.reducer {
            Reducer::Replace => {
                let apply = self.reducer_fn("apply_to");
                quote!(#apply(#new, &mut self.#name);)
            }
            Reducer::Append => {
                let append = self.reducer_fn("append_all");
                quote!(let append = #append; append(&mut self.#name, #new);)
            }
            Reducer::Merge => {
                let merge = self.reducer_fn("merge");
                quote!(let merge = #merge; merge(&mut self.#name, #new);)
            }
        }
    }

    /// Returns the expression that says whether the update `self` changes this field.
    fn is_changed(&self) -> TokenStream {
        let name = &self.name;
        let is_nothing = self.reducer_fn(match self.reducer {
            Reducer::Replace => "is_keep",
            Reducer::Append | Reducer::Merge => "is_nothing",
        });
        quote!({ let is_nothing = #is_nothing; !is_nothing(&self.#name) })
    }

    /// Returns the path to a function of the field's reducer.
    ///
    /// If the type does not fit the reducer, the compiler says so wherever the path stands, and shows equal messages
    /// about one place only once. So the path spans exactly the type, and a caller first binds the function to a
    /// name: a direct call would get a message of its own.
    fn reducer_fn(&self, function: &str) -> TokenStream {
        let ty = &self.ty;
        let mut spans = ty.clone().into_iter().map(|token| token.span());
        let start = spans.next().unwrap_or_else(Span::call_site);
        let end = spans.last().unwrap_or(start);
        let function = Ident::new(function, end);
        let open = quote_spanned!(start=> <);
        match self.reducer {
            Reducer::Replace => quote!(::redraft::workflow::Change::#function),
            Reducer::Append => quote_spanned!(end=> #open #ty as ::redraft::workflow::Append>::#function),
            Reducer::Merge => quote_spanned!(end=> #open #ty as ::redraft::workflow::Merge>::#function),
        }
    }
}
