//! Reads the struct that `#[derive(State)]` stands on.
//!
//! Every mistake a user can make is found here and said where it stands, all of them at once. Only what needs types
//! (is this field a list?) is left to the compiler, which answers with the messages on the traits in
//! `redraft::workflow`. Each mistake has a file in `crates/redraft/tests/ui/fail`.

use std::collections::HashMap;

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Fields, GenericArgument, Generics, Ident, Meta, PathArguments, Token, Type,
    Visibility,
};

use crate::suggest;

/// A struct from which a state can be made.
pub(crate) struct Input {
    /// The name of the state.
    pub(crate) name: Ident,
    /// The name of its update.
    pub(crate) update: Ident,
    pub(crate) vis: Visibility,
    pub(crate) generics: Generics,
    /// At least one.
    pub(crate) fields: Vec<Field>,
}

/// One field of a state.
pub(crate) struct Field {
    pub(crate) name: Ident,
    pub(crate) vis: Visibility,
    /// The type as the user wrote it, with `Self` spelt out: it is repeated where `Self` means the update.
    pub(crate) ty: TokenStream,
    pub(crate) reducer: Reducer,
    /// The type of what is appended, where it can be seen without the compiler's help.
    pub(crate) item: Option<TokenStream>,
    /// Whether the type is a number, `bool` or `char`.
    pub(crate) is_primitive: bool,
}

/// How a field takes an update in.
#[derive(Clone, Copy)]
pub(crate) enum Reducer {
    Replace,
    Append,
    Merge,
}

/// Ends the messages about a reducer that cannot be understood.
const REDUCERS_EXPLAINED: &str = "write `#[state(append)]` to add to a list or text, `#[state(merge)]` to add to a \
     map or set, or no attribute to replace the value";

/// The method every update has, whatever its fields.
pub(crate) const JOIN: &str = "and";

const PRIMITIVES: [&str; 16] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64",
    "u128", "usize",
];

impl Input {
    /// Reads the struct, or says everything that is wrong with it.
    pub(crate) fn read(item: &DeriveInput) -> syn::Result<Self> {
        let mut mistakes = Mistakes::default();
        let (name, update) = (&item.ident, format_ident!("{}Update", item.ident));

        for attribute in item.attrs.iter().filter(|attribute| attribute.path().is_ident("state")) {
            mistakes.add(
                attribute,
                "`#[state(...)]` says how one field takes an update in; move it from the struct to that field",
            );
        }
        for lifetime in item.generics.lifetimes() {
            mistakes.add(
                lifetime,
                format!(
                    "a state cannot borrow: it is read back from the journal after a crash; remove `{}` and let the \
                     fields own their data (`String` instead of `&str`, `Vec<T>` instead of `&[T]`)",
                    lifetime.lifetime
                ),
            );
        }

        let (_, type_arguments, _) = item.generics.split_for_impl();
        let this = quote!(#name #type_arguments);
        let fields: Vec<Field> = named_fields(item, &mut mistakes)
            .into_iter()
            .filter_map(|field| Field::read(field, &this, &mut mistakes))
            .collect();
        check_methods(&fields, &update, &mut mistakes);
        mistakes.finish()?;

        let generics = spell_out_self(&item.generics, &this)?;
        Ok(Self { name: name.clone(), update, vis: item.vis.clone(), generics, fields })
    }
}

impl Field {
    fn read(field: &syn::Field, this: &TokenStream, mistakes: &mut Mistakes) -> Option<Self> {
        let name = field.ident.clone()?;
        let mut reducer = None;
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("state")) {
            for (span, found) in read_reducers(attribute, mistakes) {
                match reducer {
                    None => reducer = Some(found),
                    Some(first) => mistakes.add_at(
                        span,
                        format!(
                            "a field has one reducer, and `{name}` already has `{}`; remove one of the two",
                            first.word()
                        ),
                    ),
                }
            }
        }
        Some(Self {
            name,
            vis: field.vis.clone(),
            ty: replace_self(field.ty.to_token_stream(), this),
            reducer: reducer.unwrap_or(Reducer::Replace),
            item: item(&field.ty).map(|item| replace_self(item, this)),
            is_primitive: PRIMITIVES.iter().any(|primitive| is_called(&field.ty, primitive)),
        })
    }

    /// Returns the name without the `r#` of a name that is a keyword.
    pub(crate) fn plain_name(&self) -> String {
        self.name.unraw().to_string()
    }

    /// Returns the names of the update's methods for this field.
    pub(crate) fn methods(&self) -> Vec<String> {
        let name = self.plain_name();
        match self.reducer {
            Reducer::Replace => vec![name],
            Reducer::Append => vec![format!("append_{name}"), format!("extend_{name}")],
            Reducer::Merge => vec![format!("merge_{name}")],
        }
    }
}

impl Reducer {
    const ALL: [Self; 3] = [Self::Replace, Self::Append, Self::Merge];

    /// Returns the reducer as users write it.
    fn word(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Merge => "merge",
        }
    }
}

fn is_called(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(name))
}

/// Returns `T` for `Vec<T>`, by its looks.
///
/// A type of another crate that looks like this but has other items is refused by the compiler, never misread.
fn item(ty: &Type) -> Option<TokenStream> {
    if is_called(ty, "String") {
        return Some(ty.to_token_stream());
    }
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Vec" || last.ident == "VecDeque")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.iter().collect::<Vec<_>>()[..] {
        [GenericArgument::Type(item)] => Some(item.to_token_stream()),
        _ => None,
    }
}

/// Returns the fields of a struct with named fields, or says why there are none.
fn named_fields<'a>(item: &'a DeriveInput, mistakes: &mut Mistakes) -> Vec<&'a syn::Field> {
    let name = &item.ident;
    match &item.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => return fields.named.iter().collect(),
            Fields::Unnamed(fields) if !fields.unnamed.is_empty() => mistakes.add(
                fields,
                format!(
                    "updates change a state field by field, so the fields need names; write `struct {name} {{ … }}`"
                ),
            ),
            _ => mistakes.add(
                name,
                format!(
                    "a state without fields cannot change; give it at least one, as in `struct {name} {{ draft: \
                     String }}`"
                ),
            ),
        },
        Data::Enum(data) => mistakes.add(
            data.enum_token,
            format!(
                "a state is a struct with named fields, not an enum; put the enum into one, as in `struct \
                 {name}State {{ current: {name} }}`, and derive `State` there"
            ),
        ),
        Data::Union(data) => mistakes.add(
            data.union_token,
            format!("a state is a struct with named fields, not a union; write `struct {name} {{ … }}`"),
        ),
    }
    Vec::new()
}

/// Refuses fields whose methods on the update would have the same name.
fn check_methods(fields: &[Field], update: &Ident, mistakes: &mut Mistakes) {
    let mut taken = HashMap::new();
    for field in fields {
        for method in field.methods() {
            if method == JOIN {
                mistakes.add(
                    &field.name,
                    format!(
                        "a field cannot be called `{JOIN}`: `{update}` has a method of that name, which joins two \
                         updates; rename the field"
                    ),
                );
            } else if let Some(other) = taken.insert(method.clone(), &field.name) {
                mistakes.add(
                    &field.name,
                    format!(
                        "the fields `{other}` and `{}` would both get the method `{method}` of `{update}`; rename \
                         one of them",
                        field.name
                    ),
                );
            }
        }
    }
}

/// Reads one `#[state(...)]` on a field; more than one reducer is for the caller to refuse.
fn read_reducers(attribute: &Attribute, mistakes: &mut Mistakes) -> Vec<(Span, Reducer)> {
    let list = match &attribute.meta {
        Meta::List(list) if !list.tokens.is_empty() => list,
        Meta::NameValue(pair) => {
            let typed = pair.value.to_token_stream().to_string();
            let advice = understand(typed.trim_matches('"')).map_or_else(
                |_| REDUCERS_EXPLAINED.to_owned(),
                |reducer| format!("write `#[state({})]`", reducer.word()),
            );
            mistakes.add(attribute, format!("a reducer stands in parentheses; {advice}"));
            return Vec::new();
        }
        _ => {
            mistakes.add(attribute, format!("this attribute names no reducer; {REDUCERS_EXPLAINED}"));
            return Vec::new();
        }
    };
    let arguments = match list.parse_args_with(Punctuated::<Argument, Token![,]>::parse_terminated) {
        Ok(arguments) => arguments,
        Err(mistake) => {
            mistakes.push(mistake);
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for argument in &arguments {
        match argument.read() {
            Ok(reducer) => found.push((argument.span, reducer)),
            Err(message) => mistakes.add(&argument.tokens, message),
        }
    }
    found
}

/// What stands between two commas of `#[state(...)]`; anything goes, so that the message about it is ours.
struct Argument {
    span: Span,
    tokens: TokenStream,
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut tokens = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            tokens.extend([input.parse::<TokenTree>()?]);
        }
        if tokens.is_empty() {
            return Err(input.error(format!("a reducer is missing before this comma; {REDUCERS_EXPLAINED}")));
        }
        Ok(Self { span: tokens.span(), tokens })
    }
}

impl Argument {
    fn read(&self) -> Result<Reducer, String> {
        let mut tokens = self.tokens.clone().into_iter();
        match (tokens.next(), tokens.next()) {
            (Some(TokenTree::Ident(word)), None) => understand(&word.unraw().to_string()),
            (Some(TokenTree::Ident(word)), Some(_)) => {
                let reducer = understand(&word.unraw().to_string())?;
                Err(format!("`{0}` takes no value; write `#[state({0})]`", reducer.word()))
            }
            (Some(TokenTree::Literal(text)), None) => {
                let reducer = understand(text.to_string().trim_matches('"'))?;
                Err(format!("a reducer is written without quotes; write `#[state({})]`", reducer.word()))
            }
            _ => Err(format!("this is not a reducer; {REDUCERS_EXPLAINED}")),
        }
    }
}

/// Returns the reducer of that name, or a message that names the nearest.
fn understand(word: &str) -> Result<Reducer, String> {
    if let Some(reducer) = Reducer::ALL.into_iter().find(|known| known.word() == word) {
        return Ok(reducer);
    }
    Err(match suggest::nearest(word, Reducer::ALL.map(Reducer::word)) {
        Some(meant) => format!("there is no reducer `{word}`; did you mean `{meant}`?"),
        None => format!("there is no reducer `{word}`; {REDUCERS_EXPLAINED}"),
    })
}

/// Writes the name of the state wherever `Self` stands.
fn replace_self(tokens: TokenStream, this: &TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Ident(word) if word == "Self" => this.clone(),
            TokenTree::Group(group) => {
                let mut replaced = Group::new(group.delimiter(), replace_self(group.stream(), this));
                replaced.set_span(group.span());
                TokenTree::Group(replaced).into()
            }
            other => other.into(),
        })
        .collect()
}

/// Does the same to the parameters and the where clause.
fn spell_out_self(generics: &Generics, this: &TokenStream) -> syn::Result<Generics> {
    let mut spelt: Generics = syn::parse2(replace_self(generics.to_token_stream(), this))?;
    if let Some(clause) = &generics.where_clause {
        spelt.where_clause = Some(syn::parse2(replace_self(clause.to_token_stream(), this))?);
    }
    Ok(spelt)
}

/// All that is wrong with one struct.
#[derive(Default)]
struct Mistakes(Option<syn::Error>);

impl Mistakes {
    fn add(&mut self, place: impl ToTokens, message: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(place, message));
    }

    fn add_at(&mut self, place: Span, message: impl std::fmt::Display) {
        self.push(syn::Error::new(place, message));
    }

    fn push(&mut self, mistake: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(mistake),
            None => self.0 = Some(mistake),
        }
    }

    fn finish(self) -> syn::Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
